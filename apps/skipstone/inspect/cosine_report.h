// The report of skipstone_cosines() for people: a table, the layers as bars, and a plot.
#pragma once

#include <string>

#include "json/json_fwd.h"
#include "results/charts.h"

namespace cli {

/// Min, max, mean, median and mean time as in table 1 of "Draft on the Fly" (arXiv 2410.01028), the measuring time, and one line for each
/// layer with a bar for its attention and its MLP.
std::string cosine_text(const skipstone::Json& report);

/// A plot of the layers' means, with whiskers from the smallest to the largest prompt value, and Draft on the Fly's skip threshold.
Plot cosine_plot(const skipstone::Json& report);

}  // namespace cli
