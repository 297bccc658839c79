// What a comparison says in sentences, before its tables.
#pragma once

#include <string>
#include <vector>

#include "report/lines.h"

namespace cli::report {

/// Runs whose lowest and highest lie further apart than this share of their median are too noisy to compare.
inline constexpr double most_spread = 0.20;

/// Up to three sentences: which device is fastest and by what ratio, whether drafts pay, whether self-tests and texts are as they must be.
/// A difference that lies within the spread of the runs is called none.
std::vector<std::string> conclusions(const std::vector<Line>& lines, const std::vector<ModelLines>& models);

/// A sentence for each device and model with a spread above `most_spread`. Quick reports, whose speeds are not judged, have none.
std::vector<std::string> noise_warnings(const std::vector<ModelLines>& models);

}  // namespace cli::report
