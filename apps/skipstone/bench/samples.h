// What is said of repeated measurements. Nothing is divided by zero: what cannot be said is std::nullopt.
#pragma once

#include <optional>
#include <vector>

namespace cli::bench {

/// The middle value, or the mean of the two middle ones; nullopt of nothing.
std::optional<double> median(std::vector<double> values);

/// nullopt of nothing.
std::optional<double> mean(const std::vector<double>& values);

/// Of the population that the values are a sample of (the divisor is one less than their number); nullopt of fewer than two.
std::optional<double> standard_deviation(const std::vector<double>& values);

/// nullopt unless the divisor is above zero.
std::optional<double> quotient(double dividend, double divisor);

}  // namespace cli::bench
