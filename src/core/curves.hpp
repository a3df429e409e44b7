// Two samples of scores against each other: what ROC curves, precision-recall curves and pooled ranks are counted from.
#pragma once

#include "common.hpp"

namespace graphgauge {

// The distinct values of `ascending`, highest first, and how often each occurs. Returns how many there are.
template <class T>
i64 distinct_values(const T* ascending, i64 size, T* values, i64* counts);

// For each of `values`, which fall strictly: the elements of `ascending` that are greater and that are equal.
template <class T>
void merged_counts(const T* values, i64 count, const T* ascending, i64 size, i64* greater, i64* equal, int threads);

// The same for scores in any order, for values that rise strictly and are few: each score is placed among the values
// instead of being sorted. Returns how many scores are NaN, which are not counted.
template <class T>
i64 placed_counts(const T* rising, i64 count, const T* scores, i64 size, i64* greater, i64* equal, int threads);

}  // namespace graphgauge
