// ROC-AUC and average precision of tasks with weighted items, and what each item adds to their errors.
#pragma once

#include "keys.hpp"

namespace graphgauge {

// What is written for each task: both areas, NaN unless there are positives and negatives, the weights of its positives
// and of all its items, and the sums of the second and fourth powers of its influences, times the weights, (tasks, 2).
// The influence of an item on an area is the derivative by its weight, times the weight of the task; for each item they
// are added over the tasks, every task as if all items had a label in it.
struct Areas {
  double *auc, *precision, *positive, *total;
  double *auc_powers, *precision_powers;
  double *auc_influence, *precision_influence;  // (items)
};

constexpr i64 CHUNKS = 4;
// Items are in the order of their scores, which nobody foresees: the influence of the one so many places on is fetched.
constexpr std::size_t SOON = 24;

template <class T>
class Task {
 public:
  explicit Task(const double* weights) : weights_(weights) {}

  // Begin with another task, with memory that is there.
  void start(const signed char* labels, const T* scores, i64 items) {
    positive_ = total_ = 0;
    entries_.resize(items);
    i64 known = 0;
    for (i64 item = 0; item < items; item++) {
      // Without a branch, which nobody could foresee.
      entries_[known] = {rising_key(scores[item]), static_cast<u32>(2 * item + (labels[item] == 1))};
      known += labels[item] >= 0;
    }
    entries_.resize(known);
    for (const auto& entry : entries_) {
      const double weight = weight_of(entry);
      total_ += weight, positive_ += is_positive(entry) ? weight : 0.0;
    }
    sort_by_key<11>(entries_, spare_);
  }

  double positive() const { return positive_; }
  double total() const { return total_; }

  // f(first, last, level) for the items of each distinct score, from the lowest: weights at this score and below it.
  struct Level {
    double positive, negative, positive_below, negative_below;
  };
  template <class F>
  void walk(F&& f) const {
    double positive_below = 0, negative_below = 0;
    for (std::size_t first = 0, last; first < entries_.size(); first = last) {
      double positive = 0, negative = 0;
      for (last = first; last < entries_.size() && entries_[last].key == entries_[first].key; last++) {
        const double weight = weight_of(entries_[last]);
        positive += is_positive(entries_[last]) ? weight : 0.0;
        negative += is_positive(entries_[last]) ? 0.0 : weight;
      }
      f(first, last, Level{positive, negative, positive_below, negative_below});
      positive_below += positive, negative_below += negative;
    }
  }

  // `whole` is the weight of all items, labelled or not; to `influence`, (items, 2), those of this task are added.
  void measure(i64 number, double whole, const Areas& out, double* influence) const {
    const double rest = total_ - positive_;
    auto precision_at = [&](const Level& level) {
      const double above = positive_ - level.positive_below;
      return above / (above + (rest - level.negative_below));
    };
    Sum won, found;
    walk([&](std::size_t, std::size_t, const Level& level) {
      if (level.positive <= 0) return;
      won.add(level.positive * (level.negative_below + level.negative / 2));
      found.add(level.positive * precision_at(level));
    });
    const double auc = won.value() / positive_ / rest, precision = found.value() / positive_;
    const double by_positive = total_ / positive_, by_negative = total_ / rest, scale = whole / total_;
    double gain = 0, loss = 0, auc_2 = 0, auc_4 = 0, precision_2 = 0, precision_4 = 0;
    walk([&](std::size_t first, std::size_t last, const Level& level) {
      double of_positive[2] = {0, 0};
      if (level.positive > 0) {
        const double here = precision_at(level), wrong = rest - level.negative_below;
        const double called = wrong + positive_ - level.positive_below;
        gain += level.positive * wrong / (called * called);
        loss += level.positive * here / called;
        of_positive[0] = ((level.negative_below + level.negative / 2) / rest - auc) * by_positive;
        of_positive[1] = (here - precision + gain) * by_positive;
      }
      const double above = (positive_ - level.positive_below - level.positive / 2) * (1 / positive_);
      const double of_negative[2] = {(above - auc) * by_negative, -loss * by_positive};
      for (std::size_t i = first; i < last; i++) {
        const double* own = is_positive(entries_[i]) ? of_positive : of_negative;
        const double weight = weight_of(entries_[i]), square = own[0] * own[0], other = own[1] * own[1];
        auc_2 += weight * square, auc_4 += weight * square * square;
        precision_2 += weight * other, precision_4 += weight * other * other;
        double* sum = influence + 2 * item_of(entries_[i]);
        if (i + SOON < entries_.size()) GRAPHGAUGE_AHEAD(influence + 2 * item_of(entries_[i + SOON]));
        sum[0] += own[0] * scale, sum[1] += own[1] * scale;
      }
    });
    out.auc[number] = auc, out.precision[number] = precision;
    out.auc_powers[2 * number] = auc_2, out.auc_powers[2 * number + 1] = auc_4;
    out.precision_powers[2 * number] = precision_2, out.precision_powers[2 * number + 1] = precision_4;
  }

 private:
  // An entry has twice the number of its item, and one more if it is positive.
  static i64 item_of(const Entry<T>& entry) { return entry.number >> 1; }
  static bool is_positive(const Entry<T>& entry) { return entry.number & 1; }
  double weight_of(const Entry<T>& entry) const { return weights_ ? weights_[item_of(entry)] : 1.0; }

  const double* weights_;
  double positive_ = 0, total_ = 0;
  std::vector<Entry<T>> entries_, spare_;
};

// Labels are 1, 0, or below 0 for none. Labels and scores are (tasks, items); `weights` has one for each item, or is
// null if all are 1.
//
// With P and N the weights of positives and negatives, and at each distinct score P_v and N_v:
// AUC = sum of P_v (N below v + N_v / 2) / (P N), precision = sum of P_v precision(v) / P, where precision(v) is that
// of all items that score at least v. The influences on the AUC are DeLong's (1988).
template <class T>
void curve_areas(const signed char* labels, const T* scores, const double* weights, i64 tasks, i64 items, Areas out,
                 int threads) {
  double whole = 0;
  for (i64 item = 0; item < items; item++) whole += weights ? weights[item] : 1.0;
  // Each chunk of tasks adds up influences of its own, and these are added in order.
  const i64 chunks = std::min(tasks, CHUNKS);
  std::vector<std::vector<double>> sums(chunks);
  parallel(chunks, threads, [&](i64 chunk) {
    auto& own = sums[chunk];
    own.assign(2 * items, 0.0);
    Task<T> task(weights);
    for (i64 number = tasks * chunk / chunks; number < tasks * (chunk + 1) / chunks; number++) {
      task.start(labels + number * items, scores + number * items, items);
      out.positive[number] = task.positive(), out.total[number] = task.total();
      out.auc[number] = out.precision[number] = std::numeric_limits<double>::quiet_NaN();
      std::fill_n(out.auc_powers + 2 * number, 2, 0.0), std::fill_n(out.precision_powers + 2 * number, 2, 0.0);
      if (task.positive() <= 0 || task.total() - task.positive() <= 0) continue;
      task.measure(number, whole, out, own.data());
    }
  });
  std::fill_n(out.auc_influence, items, 0.0), std::fill_n(out.precision_influence, items, 0.0);
  for (const auto& own : sums) {
    for (i64 item = 0; item < items; item++) {
      out.auc_influence[item] += own[2 * item], out.precision_influence[item] += own[2 * item + 1];
    }
  }
}

}  // namespace graphgauge
