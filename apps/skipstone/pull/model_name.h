// Names of models on a hub, and the files of a repository that such a name means.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cli::pull {

/// What the names of models begin with where files are expected: hf:OWNER/NAME:QUANT.
inline constexpr std::string_view scheme = "hf:";

struct ModelName {
  std::string owner, name;
  std::string quant;  ///< a type as it is in names of files ("Q4_K_M"), or a file's name; "": none is named

  /// "OWNER/NAME"
  std::string repository() const { return owner + '/' + name; }
  /// With the usual type where none is named.
  ModelName or_usual() const;
  /// As it was given, without the scheme.
  std::string text() const { return repository() + (quant.empty() ? "" : ':' + quant); }

  /// Of OWNER/NAME[:QUANT], also with the scheme in front. Throws Failure for anything else.
  static ModelName parse(std::string_view text);
};

/// Whether the path of a file in a repository is one that may be made in a folder: relative, without ".." and control characters.
bool is_safe_path(std::string_view path);

/// The model's files among those of its repository: one, or all parts of a split one in their order. Where no type is named and there is
/// none of the usual one, the first that is whole, as llama.cpp has it. Throws Failure, naming the files that there are, where none is
/// meant or parts are missing.
std::vector<std::string> choose_files(const std::vector<std::string>& files, const ModelName& model);

}  // namespace cli::pull
