#include "pull/hub_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <span>
#include <system_error>

#include "base/env.h"
#include "base/input_file.h"
#include "base/output_file.h"
#include "base/platform/files.h"
#include "base/platform/system.h"
#include "base/status.h"
#include "terminal/exit_code.h"
#include "terminal/output.h"

namespace cli::pull {
namespace {

namespace fs = std::filesystem;
namespace env = skipstone::env;
namespace platform = skipstone::platform;

constexpr std::uint64_t most_reference = 200;  // bytes

std::string root() {
  for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"}) {
    if (const auto folder = env::get(name)) return *folder;
  }
  if (const auto home = env::get("HF_HOME")) return *home + "/hub";
  if (const auto caches = env::get("XDG_CACHE_HOME")) return *caches + "/huggingface/hub";
  for (const char* name : {"USERPROFILE", "HOME"}) {  // the former is Windows'
    if (const auto home = env::get(name)) return *home + "/.cache/huggingface/hub";
  }
  fail(ExitCode::failure, "there is no folder for models of the hub; name one by HF_HUB_CACHE");
}

[[noreturn]] void failed(const std::string& path, const std::string& reason) {
  fail(ExitCode::failure, "{}: the model cannot be kept there: {}", path, reason);
}

}  // namespace

HubCache::HubCache(const ModelName& model) {
  const std::string all = root(), name = "models--" + model.owner + "--" + model.name;
  folder_ = all + '/' + name;
  locks_ = all + "/.locks/" + name;
}

std::vector<std::string> HubCache::commits() const {
  std::vector<std::string> all = platform::names_in(folder_ + "/snapshots");
  std::ranges::sort(all);
  const std::string ref = folder_ + "/refs/main";
  try {
    std::string newest = platform::is_there(ref) ? skipstone::read_whole_file(ref, most_reference) : "";
    newest.erase(std::min(newest.find_last_not_of(" \r\n") + 1, newest.size()));
    std::stable_partition(all.begin(), all.end(), [&](const std::string& commit) { return commit == newest; });
  } catch (const skipstone::Error&) {  // any other will do
  }
  return all;
}

std::vector<std::string> HubCache::files_of(const std::string& commit) const {
  std::vector<std::string> files;
  std::error_code error;
  const fs::path top = platform::path_of(snapshot(commit));
  for (fs::recursive_directory_iterator at(top, error), end; !error && at != end; at.increment(error)) {
    std::error_code dangling;
    if (fs::is_regular_file(at->path(), dangling)) files.push_back(at->path().lexically_relative(top).generic_string());
  }
  return files;
}

std::vector<std::string> HubCache::find(const ModelName& model) const {
  for (const std::string& commit : commits()) {
    try {
      std::vector<std::string> chosen = choose_files(files_of(commit), model);
      for (std::string& path : chosen) path.insert(0, snapshot(commit) + '/');
      return chosen;
    } catch (const Failure&) {  // this commit does not have it whole
    }
  }
  return {};
}

std::vector<std::string> HubCache::find(const std::vector<std::string>& files) const {
  for (const std::string& commit : commits()) {
    std::vector<std::string> paths;
    paths.reserve(files.size());
    for (const std::string& file : files) paths.push_back(snapshot(commit) + '/' + file);
    const auto is_file = [](const std::string& path) { return platform::kind_of(path) == platform::FileKind::regular; };
    if (std::ranges::all_of(paths, is_file)) return paths;
  }
  return {};
}

std::vector<std::string> HubCache::find_instead(const ModelName& model, const std::string& why) const {
  std::vector<std::string> files = find(model);
  if (files.empty()) fail(ExitCode::failure, "{}, and {} is not in the cache; download its file and name that", why, model.text());
  note("{}; the files of {} that are there are taken.", why, model.text());
  return files;
}

bool HubCache::has(const RemoteFile& file) const {
  std::error_code error;
  const auto bytes = fs::file_size(platform::path_of(blob(file)), error);
  return !error && bytes == file.bytes;
}

std::string HubCache::link(const RemoteFile& file, const std::string& commit) const {
  std::string path = snapshot(commit) + '/' + file.path;
  if (platform::are_same(path, blob(file))) return path;
  std::string target = "../../blobs/" + file.checksum;
  for (const char c : file.path) {
    if (c == '/') target.insert(0, "../");
  }
  platform::create_folder_of(path);
  // Under another name first: a program that looks at the same time finds the old link or the new one.
  const fs::path made = platform::path_of(path), temporary = platform::path_of(fmt::format("{}.{}.link", path, std::random_device()()));
  std::error_code error, left;
  fs::create_symlink(platform::path_of(target), temporary, error);
  if (error) fs::create_hard_link(platform::path_of(blob(file)), temporary, error);
  if (!error) fs::rename(temporary, made, error);
  if (error) fs::remove(temporary, left);
  if (!platform::are_same(path, blob(file))) failed(path, error ? error.message() : "the link leads elsewhere");
  return path;
}

void HubCache::set_newest(const std::string& commit) const {
  const std::string path = folder_ + "/refs/main";
  try {
    if (platform::is_there(path) && skipstone::read_whole_file(path, most_reference) == commit) return;
    platform::create_folder_of(path);
    skipstone::write_whole_file(path, std::as_bytes(std::span(commit)));
  } catch (const skipstone::Error& error) {
    failed(path, error.what());
  }
}

}  // namespace cli::pull
