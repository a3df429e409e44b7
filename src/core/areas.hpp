// ROC-AUC and average precision of tasks with weighted items, and what each item adds to their errors.
#pragma once

#include "common.hpp"

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

// Labels are 1, 0, or below 0 for none. Labels and scores are (tasks, items); `weights` has one for each item, or is
// null if all are 1.
//
// With P and N the weights of positives and negatives, and at each distinct score P_v and N_v:
// AUC = sum of P_v (N below v + N_v / 2) / (P N), precision = sum of P_v precision(v) / P, where precision(v) is that
// of all items that score at least v. The influences on the AUC are DeLong's (1988).
template <class T>
void curve_areas(const signed char* labels, const T* scores, const double* weights, i64 tasks, i64 items, Areas out,
                 int threads);

}  // namespace graphgauge
