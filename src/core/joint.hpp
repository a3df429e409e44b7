// Scores of joint forecasts: all nodes of a time step as one vector.
#pragma once

#include "common.hpp"

namespace graphgauge {

// The energy scores of `vectors` ensembles (component, member) for the truths (component): the mean distance of a
// member to the truth less half the mean distance of two members.
void energy_scores(const double* y, const double* members, i64 vectors, i64 components, i64 count, double* scores,
                   int threads);

}  // namespace graphgauge
