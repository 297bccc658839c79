// The model files that a server offers, and their names.
#pragma once

#include <string>
#include <vector>

namespace cli::serve {

struct ModelFile {
  std::string path;
  std::string name;                   ///< in lists and answers
  std::vector<std::string> known_as;  ///< names that a request may give
  std::string mtp_file{};             ///< with its heads for multi-token prediction; "": none
};

/// `files` in their order, then the GGUF files in `folder` ("" for none) and the folders in it, by name. A file's name is that without
/// ".gguf", with its folder's in front if it is in a folder of `folder`; of a split model, its first part is the model. There,
/// mtp-NAME.gguf is no model, but has the heads of NAME.gguf beside it. Throws Failure if there is no model, if `folder` cannot be read, or
/// if two files have one name.
std::vector<ModelFile> find_models(const std::vector<std::string>& files, const std::string& folder);

}  // namespace cli::serve
