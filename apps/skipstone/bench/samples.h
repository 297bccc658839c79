// Statistics of repeated measurements. Undefined values, such as a division by zero, are std::nullopt.
#pragma once

#include <optional>
#include <vector>

namespace cli::bench {

/// The middle value, or the mean of the two middle ones; nullopt of no values.
std::optional<double> median(std::vector<double> values);

/// nullopt of no values.
std::optional<double> mean(const std::vector<double>& values);

/// The sample standard deviation (the divisor is one less than the number of values); nullopt of fewer than two.
std::optional<double> standard_deviation(const std::vector<double>& values);

/// nullopt unless the divisor is above zero.
std::optional<double> quotient(double dividend, double divisor);

}  // namespace cli::bench
