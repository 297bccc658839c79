#include "gguf/sparse.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "base/status.h"

namespace skipstone::gguf {
namespace {

constexpr std::uint32_t version = 1;
constexpr std::string_view pattern = "2:4";
constexpr std::array names{std::pair{Type::sparse_f16, std::string_view("f16")}, std::pair{Type::sparse_q8_0, std::string_view("q8_0")}};

std::string key(std::string_view name) { return std::string(sparse_keys) + std::string(name); }

void check_version(const File& file) {
  const std::uint64_t found = file.required_integer(key("version"));
  if (found != version) {
    fail(Code::unsupported, "{}: its sparse tensors are of version {}; this program reads version {}", file.path(), found, version);
  }
  const std::string found_pattern = file.string(key("pattern"), "");
  if (found_pattern != pattern) {
    fail(Code::unsupported, "{}: its sparse tensors have the pattern '{}'; this program reads {}", file.path(), escaped(found_pattern),
         pattern);
  }
}

void assign(Tensor& tensor, Type type, const std::string& path) {
  if (is_sparse(tensor.type)) {
    fail(Code::bad_file, "{}: sparse tensor '{}' is named twice in the metadata; the file is damaged", path, escaped(tensor.name));
  }
  const Traits& to = traits(type);
  if (tensor.type != Type::i8) {
    fail(Code::bad_file, "{}: sparse tensor '{}' is stored as {}, not as I8; the file is damaged", path, escaped(tensor.name),
         traits(tensor.type).name);
  }
  if (tensor.dimensions != 2 || tensor.row_length() % to.bytes != 0) {
    fail(Code::bad_file, "{}: sparse tensor '{}' has rows of {} bytes in {} dimensions, which are no matrix of {} in blocks of {} bytes",
         path, escaped(tensor.name), tensor.row_length(), tensor.dimensions, to.name, to.bytes);
  }
  tensor.type = type;
  tensor.shape[0] = tensor.row_length() / to.bytes * to.block;
}

}  // namespace

void adopt_sparse(const File& file, std::span<Tensor> tensors) {
  const bool any = std::ranges::any_of(file.metadata(), [](const Pair& pair) { return pair.key.starts_with(sparse_keys); });
  if (!any) return;
  check_version(file);
  for (const auto& [type, name] : names) {
    const std::vector<std::string>* listed = file.strings(key(name));
    if (listed == nullptr) continue;
    for (const std::string& each : *listed) {
      const auto found = std::ranges::find(tensors, each, &Tensor::name);
      if (found == tensors.end()) {
        fail(Code::bad_file, "{}: sparse tensor '{}' of the metadata is not in the file; the file is damaged", file.path(), escaped(each));
      }
      assign(*found, type, file.path());
    }
  }
}

std::vector<Pair> sparse_metadata(std::span<const std::pair<std::string, Type>> tensors) {
  std::vector<Pair> pairs;
  for (const auto& [type, name] : names) {
    std::vector<std::string> of_type;
    for (const auto& [tensor, its_type] : tensors) {
      if (its_type == type) of_type.push_back(tensor);
    }
    if (!of_type.empty()) pairs.push_back({key(name), std::make_shared<const Array>(Array{std::move(of_type)})});
  }
  if (pairs.empty()) return pairs;
  pairs.insert(pairs.begin(), {{key("version"), version}, {key("pattern"), std::string(pattern)}});
  return pairs;
}

void check_places(const Tensor& tensor, const std::string& path) {
  if (const std::optional<std::uint64_t> row = find_misplaced(tensor)) {
    fail(Code::bad_file, "{}: sparse tensor '{}' has a group in row {} whose two places are not in order; the file is damaged", path,
         escaped(tensor.name), *row);
  }
}

}  // namespace skipstone::gguf
