// Heads for multi-token prediction in a file of their own.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/status.h"
#include "model/config_parts.h"
#include "model/tensor_roles.h"

namespace skipstone::model {
namespace {

/// The blocks of a file: layers, and after them heads.
struct BlockCounts {
  std::uint64_t count = 0, heads = 0;
  std::uint64_t layers() const { return count - heads; }
};

std::string architecture_of(const gguf::File& file) { return file.string("general.architecture", ""); }

BlockCounts counts_of(const gguf::File& file) {
  const Keys keys(file, architecture_of(file));
  const std::uint32_t count = keys.count(blocks_key, 1, most_layers);
  return {count, keys.count(heads_key, 0, count, 0)};
}

/// Begins the names of a block's tensors.
std::string prefix_of(std::uint64_t block) { return fmt::format("blk.{}.", block); }

bool has_head(const gguf::File& file, std::uint64_t block) {
  return file.find_tensor(tensor_name(Role::prediction_in, static_cast<std::uint32_t>(block))) != nullptr;
}

/// To whoever asked for a head, "not found" and "unsupported" would be said of the model or the device.
gguf::File open(const std::string& path) {
  try {
    return gguf::File::open(path);
  } catch (const Error& error) {
    const bool unclear = error.code() == Code::not_found || error.code() == Code::unsupported;
    fail(unclear ? Code::bad_file : error.code(), "{}", error.what());
  }
}

std::optional<std::uint64_t> integer_in(const gguf::File& file, const std::string& key) {
  const gguf::Value* value = file.find(key);
  if (value == nullptr || std::holds_alternative<std::shared_ptr<const gguf::Array>>(*value)) return std::nullopt;
  return file.integer(key, 0);
}

std::optional<std::uint64_t> vocabulary_of(const gguf::File& file) {
  if (const gguf::Tensor* embedding = file.find_tensor(tensor_name(Role::embedding, 0))) return embedding->rows();
  const std::vector<std::string>* tokens = file.strings("tokenizer.ggml.tokens");
  return tokens == nullptr ? std::nullopt : std::optional<std::uint64_t>(tokens->size());
}

/// Throws unless `other` has a head, and both files say the same of the model.
void check_heads(const gguf::File& model, const gguf::File& other) {
  const auto refuse = [&](const std::string& what, const auto& theirs, const auto& own) {
    fail(Code::invalid_argument, "{}: is the head of another model: its {} is {}, the model's is {}", other.path(), what, theirs, own);
  };
  const std::string family = architecture_of(model), its_family = architecture_of(other);
  if (family != its_family) refuse("architecture", gguf::escaped(its_family), gguf::escaped(family));
  const BlockCounts blocks = counts_of(model), its_blocks = counts_of(other);
  if (its_blocks.heads == 0 || !has_head(other, its_blocks.layers())) {
    fail(Code::invalid_argument, "{}: has no head for multi-token prediction ('{}.{}' is missing or 0, or its tensors are not there)",
         other.path(), family, heads_key);
  }
  if (its_blocks.layers() != 0 && its_blocks.layers() != blocks.layers()) {
    refuse("number of layers", its_blocks.layers(), blocks.layers());
  }
  for (const char* name : {"embedding_length", "feed_forward_length", "attention.head_count", "attention.head_count_kv",
                           "attention.key_length", "vocab_size"}) {
    const std::string key = fmt::format("{}.{}", family, name);
    const auto own = integer_in(model, key), theirs = integer_in(other, key);
    if (own && theirs && *own != *theirs) refuse(fmt::format("'{}'", key), *theirs, *own);
  }
  const auto own = vocabulary_of(model), theirs = vocabulary_of(other);
  if (own && theirs && *own != *theirs) refuse("number of tokens", *theirs, *own);
}

/// What an array with a number for each block has for the heads of `other`.
std::vector<std::int32_t> numbers_of_heads(const gguf::File& other, const std::string& key, const BlockCounts& blocks) {
  if (const auto one = integer_in(other, key)) return std::vector(blocks.heads, static_cast<std::int32_t>(*one));
  const std::vector<std::int32_t> all = other.integers(key);
  if (all.size() != blocks.count) {
    fail(Code::bad_file, "{}: the array '{}' has {} items, but the file has {} blocks; it was converted wrongly", other.path(), key,
         all.size(), blocks.count);
  }
  return {all.begin() + static_cast<std::ptrdiff_t>(blocks.layers()), all.end()};
}

/// The model's array, with the numbers of the heads in place of what follows those of its layers.
gguf::Value with_numbers(const gguf::Array& own, std::uint64_t layers, const std::vector<std::int32_t>& numbers) {
  return std::visit(
      [&](auto items) -> gguf::Value {
        using T = typename decltype(items)::value_type;
        items.resize(std::min<std::size_t>(items.size(), layers));
        if constexpr (!std::is_same_v<T, std::string>) {
          for (const std::int32_t number : numbers) items.push_back(static_cast<T>(number));
        }
        return std::make_shared<const gguf::Array>(gguf::Array{std::move(items)});
      },
      own.items);
}

/// The keys that count blocks, or say something of each of them.
std::vector<gguf::Pair> joined_metadata(const gguf::File& model, const gguf::File& other) {
  const Keys keys(model, architecture_of(model));
  const std::uint64_t layers = counts_of(model).layers();
  const BlockCounts blocks = counts_of(other);
  std::vector<gguf::Pair> pairs{{keys.full(blocks_key), static_cast<std::uint32_t>(layers + blocks.heads)},
                                {keys.full(heads_key), static_cast<std::uint32_t>(blocks.heads)}};
  for (const char* name : {"attention.recurrent_layers", "attention.head_count", "attention.head_count_kv", "feed_forward_length"}) {
    const std::string key = keys.full(name);
    const gguf::Value* value = model.find(key);
    const auto* array = value == nullptr ? nullptr : std::get_if<std::shared_ptr<const gguf::Array>>(value);
    if (array != nullptr) pairs.push_back({key, with_numbers(**array, layers, numbers_of_heads(other, key, blocks))});
  }
  return pairs;
}

/// The tensors of the heads, under the names that they have after `layers` layers.
std::vector<gguf::Tensor> tensors_of_heads(const gguf::File& other, std::uint64_t layers) {
  const BlockCounts blocks = counts_of(other);
  std::vector<gguf::Tensor> tensors;
  for (std::uint64_t head = 0; head < blocks.heads; ++head) {
    const std::string from = prefix_of(blocks.layers() + head), to = prefix_of(layers + head);
    for (const gguf::Tensor& tensor : other.tensors()) {
      if (!tensor.name.starts_with(from)) continue;
      tensors.push_back(tensor);
      tensors.back().name.replace(0, from.size(), to);
    }
  }
  return tensors;
}

}  // namespace

gguf::File with_prediction_heads(gguf::File model, const std::string& path) {
  const gguf::File other = open(path);
  if (find_architecture(architecture_of(model)) == nullptr) return model;  // Config::from says so
  const BlockCounts blocks = counts_of(model);
  if (blocks.heads > 0 && has_head(model, blocks.layers())) {
    fail(Code::invalid_argument, "{}: the model has a head for multi-token prediction already ({}); leave this file out", path,
         model.path());
  }
  check_heads(model, other);
  std::vector<gguf::Tensor> tensors = tensors_of_heads(other, blocks.layers());
  std::vector<gguf::Pair> metadata = joined_metadata(model, other);
  return std::move(model).joined(other, std::move(tensors), std::move(metadata));
}

bool has_heads_alone(const gguf::File& file) {
  const BlockCounts blocks = counts_of(file);
  if (blocks.heads == 0 || !has_head(file, blocks.layers())) return false;
  const auto in_head = [&](const gguf::Tensor& tensor) {
    for (std::uint64_t block = blocks.layers(); block < blocks.count; ++block) {
      if (tensor.name.starts_with(prefix_of(block))) return true;
    }
    return false;
  };
  return std::ranges::none_of(file.tensors(),
                              [&](const gguf::Tensor& tensor) { return tensor.name.starts_with("blk.") && !in_head(tensor); });
}

}  // namespace skipstone::model
