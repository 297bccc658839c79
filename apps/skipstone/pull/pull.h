// Models by their names on a hub.
#pragma once

#include <string>
#include <vector>

#include "pull/model_name.h"

namespace cli::pull {

/// Which version of a file is fetched.
enum class Version {
  newest,  ///< the hub's
  any      ///< the cache's where it has the file; the hub says only which file is meant, and is not waited for where the cache has one
};

/// Fetches the model's files into the hub's cache, where they are not there yet, and returns their paths in the order of their parts.
/// `hub`: its address; "": $HF_ENDPOINT, or the usual one. Throws Failure. A build without libcurl returns files of the cache alone.
std::vector<std::string> fetch(const ModelName& model, const std::string& hub, Version version);

/// The first file of any version. Where no type is named, the hub is asked what that means unless the cache has the usual one; if it cannot
/// say, a file of the cache is taken.
std::string cached_or_fetched(const std::string& model);

}  // namespace cli::pull
