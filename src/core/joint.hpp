// Scores of joint forecasts: all nodes of a time step as one vector.
#pragma once

#include "common.hpp"

namespace graphgauge {

// Ensembles (vector, component, member) and truths (vector, component). With shifts (vector, component) from 0 to
// count - 1, the members of each component are rotated by its own; the pointer may be null.
struct Ensembles {
  const double *y, *members;
  const i64* shifts;
  i64 vectors, components, count;
};

// The energy scores: the mean distance of a member to the truth less half the mean distance of two members.
void energy_scores(const Ensembles& of, double* scores, int threads);

// The variogram scores, mean over those of the pairs of components that are both seen; NaN where there is none. Per
// pair the squared difference of abs(y_i - y_j)^power and its mean over the members.
void variogram_scores(const Ensembles& of, const bool* seen, const i64* pairs, i64 number, double power, double* scores,
                      int threads);

}  // namespace graphgauge
