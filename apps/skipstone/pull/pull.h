// Models by their names on a hub.
#pragma once

#include <string>
#include <vector>

#include "pull/model_name.h"

namespace cli::pull {

/// Fetches the model's files into the hub's cache, where they are not there yet, and returns their paths in the order of their parts.
/// `hub`: its address; "": $HF_ENDPOINT, or the usual one. Throws Failure; of a build without libcurl always.
std::vector<std::string> fetch(const ModelName& model, const std::string& hub);

/// The same, but a model of the cache is taken without a look for a newer one. Where no type is named, the hub is asked what that means
/// unless the cache has the usual one.
std::string cached_or_fetched(const std::string& model);

}  // namespace cli::pull
