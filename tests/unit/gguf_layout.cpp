#include "gguf_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <stdexcept>

#include "gguf/traits.h"

namespace skipstone::tests {
namespace {

class Walker {
 public:
  explicit Walker(std::string_view file) : file_(file) {}

  std::size_t at() const { return at_; }

  std::string_view take(std::uint64_t count) {
    if (count > file_.size() - at_) throw std::runtime_error(fmt::format("the file ends within {} bytes at byte {}", count, at_));
    at_ += static_cast<std::size_t>(count);
    return file_.substr(at_ - static_cast<std::size_t>(count), static_cast<std::size_t>(count));
  }

  /// Little-endian, byte by byte: right on any machine.
  std::uint64_t number(std::size_t bytes) {
    std::uint64_t value = 0;
    const std::string_view taken = take(bytes);
    for (std::size_t i = bytes; i-- > 0;) value = value << 8 | static_cast<unsigned char>(taken[i]);
    return value;
  }
  std::uint32_t number32() { return static_cast<std::uint32_t>(number(4)); }
  std::string text() { return std::string(take(number(8))); }

 private:
  std::string_view file_;
  std::size_t at_ = 0;
};

std::size_t width_of(std::uint32_t type) {
  switch (type) {
    case type_u8:
    case type_i8:
    case type_bool:
      return 1;
    case type_u16:
    case type_i16:
      return 2;
    case type_u32:
    case type_i32:
    case type_f32:
      return 4;
    case type_u64:
    case type_i64:
    case type_f64:
      return 8;
    default:
      throw std::runtime_error(fmt::format("there is no value type {}", type));
  }
}

void read_array(Walker& in, LayoutPair& pair) {
  pair.element = in.number32();
  pair.count = in.number(8);
  for (std::uint64_t i = 0; i < pair.count; ++i) {
    if (pair.element == type_string) {
      pair.strings.push_back(in.text());
    } else if (const std::uint64_t item = in.number(width_of(pair.element)); pair.element == type_i32) {
      pair.integers.push_back(static_cast<std::int32_t>(static_cast<std::uint32_t>(item)));
    }
  }
}

LayoutPair read_pair(Walker& in) {
  LayoutPair pair;
  pair.key_at = in.at() + 8;
  pair.key = in.text();
  pair.type_at = in.at();
  pair.type = in.number32();
  pair.value_at = in.at();
  if (pair.type == type_array) {
    read_array(in, pair);
  } else if (pair.type == type_string) {
    pair.text = in.text();
  } else {
    pair.integer = in.number(width_of(pair.type));
  }
  if (pair.type == type_bool && pair.integer > 1) throw std::runtime_error(fmt::format("'{}' is a bool of {}", pair.key, pair.integer));
  return pair;
}

LayoutTensor read_tensor(Walker& in) {
  LayoutTensor tensor;
  tensor.name_at = in.at() + 8;
  tensor.name = in.text();
  const std::uint32_t count = in.number32();
  if (count < 1 || count > 4) throw std::runtime_error(fmt::format("tensor '{}' has {} dimensions", tensor.name, count));
  tensor.dimensions_at = in.at();
  for (std::uint32_t i = 0; i < count; ++i) tensor.dimensions.push_back(in.number(8));
  tensor.type_at = in.at();
  tensor.type = in.number32();
  tensor.offset_at = in.at();
  tensor.offset = in.number(8);
  return tensor;
}

std::uint64_t align(std::uint64_t value, std::uint64_t alignment) { return (value + alignment - 1) / alignment * alignment; }

bool of_snake_case_segments(std::string_view key) {
  const bool characters =
      std::ranges::all_of(key, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.'; });
  return characters && !key.starts_with('.') && !key.ends_with('.') && key.find("..") == std::string_view::npos && !key.empty();
}

void complain_about_keys(const Layout& layout, std::vector<std::string>& complaints) {
  std::set<std::string> seen;
  for (const LayoutPair& pair : layout.pairs) {
    if (pair.key.size() > 65535) complaints.push_back(fmt::format("a key has {} bytes", pair.key.size()));
    if (!of_snake_case_segments(pair.key)) complaints.push_back(fmt::format("key '{}' is not of lower_snake_case segments", pair.key));
    if (!seen.insert(pair.key).second) complaints.push_back(fmt::format("key '{}' is there twice", pair.key));
  }
}

/// The bytes of a tensor; 0, with a complaint, where shape and type do not go together.
std::uint64_t size_of(const LayoutTensor& tensor, std::vector<std::string>& complaints) {
  const gguf::Traits* const type = gguf::find_traits(tensor.type);
  if (type == nullptr || !type->writable()) {
    complaints.push_back(fmt::format("tensor '{}' has the type number {}", tensor.name, tensor.type));
    return 0;
  }
  std::uint64_t weights = 1;
  for (const std::uint64_t extent : tensor.dimensions) weights *= extent;
  if (weights == 0 || tensor.dimensions[0] % type->block != 0) {
    complaints.push_back(fmt::format("tensor '{}' has rows of {} weights in blocks of {}", tensor.name, tensor.dimensions[0], type->block));
    return 0;
  }
  return weights / type->block * type->bytes;
}

void complain_about_padding(std::string_view file, std::uint64_t begin, std::uint64_t end, std::string_view after,
                            std::vector<std::string>& complaints) {
  if (begin >= file.size() || end > file.size()) return;  // the size of the file is complained about elsewhere
  const std::string_view padding = file.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  if (padding.find_first_not_of('\0') != std::string_view::npos) {
    complaints.push_back(fmt::format("the padding after {} is not zero", after));
  }
}

void complain_about_data(std::string_view file, const Layout& layout, std::vector<std::string>& complaints) {
  const LayoutPair* chosen = layout.find("general.alignment");
  const std::uint64_t alignment = chosen != nullptr && chosen->type == type_u32 ? chosen->integer : 32;
  if (alignment == 0 || alignment % 8 != 0) {
    complaints.push_back(fmt::format("the alignment is {}, no multiple of 8", alignment));
    return;
  }
  const std::uint64_t start = align(layout.header_end, alignment);
  complain_about_padding(file, layout.header_end, start, "the header", complaints);
  std::uint64_t expected = 0;
  std::set<std::string> seen;
  for (const LayoutTensor& tensor : layout.tensors) {
    // GGML_MAX_NAME of ggml.h is 64 with the NUL that ends a name there; the specification alone would allow 64.
    if (tensor.name.empty() || tensor.name.size() > 63)
      complaints.push_back(fmt::format("a tensor's name has {} bytes", tensor.name.size()));
    if (!seen.insert(tensor.name).second) complaints.push_back(fmt::format("tensor '{}' is there twice", tensor.name));
    if (tensor.offset % alignment != 0) complaints.push_back(fmt::format("tensor '{}' is not aligned to {}", tensor.name, alignment));
    if (tensor.offset != expected) {
      complaints.push_back(fmt::format("tensor '{}' is at {}, but the one before it ends at {}", tensor.name, tensor.offset, expected));
    }
    const std::uint64_t end = expected + size_of(tensor, complaints);
    expected = align(end, alignment);
    complain_about_padding(file, start + end, start + expected, "tensor '" + tensor.name + "'", complaints);
  }
  if (file.size() != start + expected) {
    complaints.push_back(fmt::format("the file has {} bytes, but its tensors end at {}", file.size(), start + expected));
  }
}

}  // namespace

const LayoutPair* Layout::find(std::string_view key) const {
  const auto found = std::ranges::find(pairs, key, &LayoutPair::key);
  return found == pairs.end() ? nullptr : &*found;
}

const LayoutTensor* Layout::tensor(std::string_view name) const {
  const auto found = std::ranges::find(tensors, name, &LayoutTensor::name);
  return found == tensors.end() ? nullptr : &*found;
}

Layout read_layout(std::string_view file) {
  Walker in(file);
  if (in.take(4) != "GGUF") throw std::runtime_error("the magic is not GGUF");
  if (const std::uint32_t version = in.number32(); version != 3) throw std::runtime_error(fmt::format("the version is {}", version));
  const std::uint64_t tensors = in.number(8), pairs = in.number(8);
  Layout layout;
  for (std::uint64_t i = 0; i < pairs; ++i) layout.pairs.push_back(read_pair(in));
  for (std::uint64_t i = 0; i < tensors; ++i) layout.tensors.push_back(read_tensor(in));
  layout.header_end = in.at();
  return layout;
}

std::vector<std::string> layout_complaints(std::string_view file) {
  std::vector<std::string> complaints;
  try {
    const Layout layout = read_layout(file);
    complain_about_keys(layout, complaints);
    complain_about_data(file, layout, complaints);
    complain_about_llama(layout, complaints);
  } catch (const std::runtime_error& error) {
    complaints.emplace_back(error.what());
  }
  return complaints;
}

}  // namespace skipstone::tests
