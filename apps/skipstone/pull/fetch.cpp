#include <algorithm>

#include "base/env.h"
#include "pull/download.h"
#include "pull/hub.h"
#include "pull/hub_cache.h"
#include "pull/pull.h"
#include "terminal/exit_code.h"
#include "terminal/output.h"

namespace cli::pull {
namespace {

/// What is there, where the hub cannot be asked.
std::vector<std::string> offline(const HubCache& cache, const ModelName& model, const std::string& why) {
  std::vector<std::string> files = cache.find(model);
  if (files.empty()) fail(ExitCode::failure, "{}, and {} is not there from an earlier time", why, model.text());
  note("{}; the files of {} that are there are taken.", why, model.text());
  return files;
}

}  // namespace

std::vector<std::string> fetch(const ModelName& model, const std::string& address) {
  const HubCache cache(model);
  if (skipstone::env::flag("HF_HUB_OFFLINE")) return offline(cache, model, "HF_HUB_OFFLINE is set");
  Hub hub(address);
  Listing listing = hub.list(model);
  if (!listing.no_answer.empty()) return offline(cache, model, listing.no_answer);
  std::vector<std::string> names;
  for (const RemoteFile& file : listing.files) names.push_back(file.path);
  std::vector<std::string> paths;
  for (const std::string& name : choose_files(names, model)) {
    RemoteFile& file = *std::ranges::find(listing.files, name, &RemoteFile::path);
    hub.complete(model, listing.commit, file);
    download(hub, model, listing.commit, file, cache);
    paths.push_back(cache.link(file, listing.commit));
  }
  cache.set_newest(listing.commit);
  return paths;
}

}  // namespace cli::pull
