// What all loops share: names of numbers, clones by instruction level, threads, exact sums.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

// Put before a function that is no template: it is compiled for three levels of x86-64, and the loader of Linux picks
// one when the module is loaded. It vanishes where the build has found that this does not work.
#if defined(GRAPHGAUGE_CLONED)
#define GRAPHGAUGE_CLONES \
  [[maybe_unused]] static __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define GRAPHGAUGE_CLONES [[maybe_unused]] static
#endif

// For what a clone calls: it has to become a part of it.
#if defined(_MSC_VER)
#define GRAPHGAUGE_INLINE __forceinline
#else
#define GRAPHGAUGE_INLINE inline __attribute__((always_inline))
#endif

// What is said once for each type of scores that loops read, because clones cannot be templates.
#define GRAPHGAUGE_EACH_SCORE(F) F(float) F(double) F(i32) F(i64) F(u64)

// Start reading what is needed soon, from an address that need not exist.
#if defined(__GNUC__)
#define GRAPHGAUGE_AHEAD(address) __builtin_prefetch(address)
#else
#define GRAPHGAUGE_AHEAD(address) static_cast<void>(address)
#endif

namespace graphgauge {

using i32 = std::int32_t;
using i64 = std::int64_t;
using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

// IEEE half precision, by its bits.
struct half {
  u16 bits;
};

constexpr double INFINITE = std::numeric_limits<double>::infinity();
// Cells that a thread takes at a time: enough to make starting it cheap.
constexpr i64 CHUNK = i64(1) << 18;

// f(chunk) for every chunk from 0 to chunks - 1, on at most `threads` threads. What a chunk computes must not depend on
// the number of threads; results that are added up are added in the order of chunks. Threads are started for the call
// and end with it, so that a process may fork at any time between calls. An exception of f ends the call.
template <class F>
void parallel(i64 chunks, int threads, F&& f) {
  if (std::min<i64>(threads, chunks) <= 1) {
    for (i64 chunk = 0; chunk < chunks; chunk++) f(chunk);
    return;
  }
  std::atomic<i64> next{0};
  std::exception_ptr error;
  std::mutex lock;
  auto work = [&] {
    try {
      for (i64 chunk; (chunk = next.fetch_add(1)) < chunks;) f(chunk);
    } catch (...) {
      const std::lock_guard<std::mutex> hold(lock);
      error = std::current_exception();
      next = chunks;
    }
  };
  std::vector<std::thread> others;
  try {
    for (i64 other = 1; other < std::min<i64>(threads, chunks); other++) others.emplace_back(work);
  } catch (const std::exception&) {
    // The system gives no more threads, or no memory for them: those there are do the work.
  }
  work();
  for (auto& other : others) other.join();
  if (error) std::rethrow_exception(error);
}

// f(next) on every thread, where next() is a chunk that no thread has had, or `chunks` or more at the end: for counts,
// which each thread adds up for itself, because the order of integers does not matter.
template <class F>
void by_thread(i64 chunks, int threads, F&& f) {
  std::atomic<i64> next{0};
  parallel(std::min<i64>(std::max(threads, 1), chunks), threads, [&](i64) { f([&] { return next.fetch_add(1); }); });
}

// A sum with the error of each addition (Knuth's two-sum): as if added with twice the digits and rounded once.
struct Sum {
  double high = 0, low = 0;

  GRAPHGAUGE_INLINE void add(double value) {
    const double sum = high + value, part = sum - high;
    low += (high - (sum - part)) + (value - part);
    high = sum;
  }
  GRAPHGAUGE_INLINE void add(const Sum& other) {
    add(other.high);
    low += other.low;
  }
  double value() const { return high + low; }
  // The same in two numbers, the first of which is the sum rounded once.
  Sum carried() const {
    Sum sum{high, 0};
    sum.add(low);
    return sum;
  }
};

}  // namespace graphgauge
