// Exponential and logarithm from IEEE 754 basic operations alone. The C library's differ in the last bit from one platform to the next, and
// one bit can turn a sampled token into another; these give the same bits wherever doubles are IEEE 754 and nothing is contracted.
#pragma once

namespace skipstone::sample {

/// exp(x) for x <= 0 (NaN gives 0), within 1 ulp; 0 below the smallest denormal.
double exp_of_nonpositive(double x);

/// Natural logarithm of a positive, normal, finite x, within 2 ulp.
double log_of_positive(double x);

}  // namespace skipstone::sample
