#include "serve/model_files.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include "base/platform/files.h"
#include "terminal/exit_code.h"

namespace cli::serve {
namespace {

namespace fs = std::filesystem;
namespace platform = skipstone::platform;

constexpr std::string_view extension = ".gguf", head_prefix = "mtp-";

/// "model" of "model.gguf" and of "model-00001-of-00003.gguf"; nullopt for the other parts of a split model.
std::optional<std::string> model_name(std::string name) {
  if (name.ends_with(extension)) name.resize(name.size() - extension.size());
  constexpr std::string_view first = "-00001-of-", pattern = "-#####-of-#####";
  if (name.size() <= pattern.size()) return name;
  const std::string_view end = std::string_view(name).substr(name.size() - pattern.size());
  const bool part =
      std::ranges::equal(end, pattern, [](char c, char wanted) { return wanted == '#' ? c >= '0' && c <= '9' : c == wanted; });
  if (!part) return name;
  if (!end.starts_with(first)) return std::nullopt;
  return name.substr(0, name.size() - pattern.size());
}

bool hidden(const fs::path& path) { return platform::text_of(path.filename()).starts_with('.'); }
bool has_heads(const fs::path& path) { return platform::text_of(path.filename()).starts_with(head_prefix); }

/// The file of heads beside a model; "" if there is none.
std::string heads_beside(const fs::path& model) {
  const fs::path file = model.parent_path() / platform::path_of(std::string(head_prefix) + platform::text_of(model.filename()));
  std::error_code error;
  return fs::is_regular_file(file, error) ? platform::text_of(file) : "";
}

std::vector<ModelFile> models_in(const std::string& folder) {
  std::vector<ModelFile> found;
  std::error_code error;
  const fs::path root = platform::path_of(folder);
  fs::recursive_directory_iterator entry(root, fs::directory_options::skip_permission_denied, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    const fs::path& path = entry->path();
    std::error_code unreadable;
    if (hidden(path)) {
      entry.disable_recursion_pending();
    } else if (path.extension() == extension && !has_heads(path) && entry->is_regular_file(unreadable)) {
      const std::u8string relative = path.lexically_relative(root).generic_u8string();
      const auto name = model_name(std::string(relative.begin(), relative.end()));
      if (name) found.push_back({platform::text_of(path), *name, {}, heads_beside(path)});
    }
  }
  if (error) fail(ExitCode::usage, "the folder of models '{}' cannot be read: {}", folder, error.message());
  if (found.empty()) fail(ExitCode::usage, "the folder of models '{}' has no GGUF file", folder);
  std::ranges::sort(found, {}, &ModelFile::name);
  return found;
}

}  // namespace

std::vector<ModelFile> find_models(const std::vector<std::string>& files, const std::string& folder) {
  std::vector<ModelFile> models;
  for (const std::string& file : files) {
    const std::string name = platform::text_of(platform::path_of(file).filename());
    models.push_back({file, model_name(name).value_or(name), {}});
  }
  if (!folder.empty()) {
    for (ModelFile& model : models_in(folder)) {
      const bool given = std::ranges::any_of(models, [&](const ModelFile& other) {
        std::error_code error;
        return fs::equivalent(platform::path_of(other.path), platform::path_of(model.path), error);
      });
      if (!given) models.push_back(std::move(model));
    }
  }
  for (ModelFile& model : models) {
    model.known_as = {model.name, model.name + std::string(extension)};
    const auto same = std::ranges::find(models, model.name, &ModelFile::name);
    if (&*same != &model)
      fail(ExitCode::usage, "the models '{}' and '{}' have one name, {}; rename one of them", same->path, model.path, model.name);
  }
  return models;
}

}  // namespace cli::serve
