// Tails and quantiles of the normal distribution and of Student's t.
#pragma once

namespace graphgauge {

// P(Z > z).
double normal_tail(double z);

// The z with P(Z > z) = tail, for tails from 0 to 1.
double normal_quantile(double tail);

// P(T > t) with `freedom` > 0 degrees of freedom, whole or not.
double student_tail(double t, double freedom);

// The t with P(T > t) = tail, for tails from 0 to 1.
double student_quantile(double tail, double freedom);

}  // namespace graphgauge
