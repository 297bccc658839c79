// A second reader of GGUF, for tests alone: it walks a file's bytes by the specification and shares no code with src/gguf, so that a
// misunderstanding there shows here. https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace skipstone::tests {

/// Numbers of value types (gguf_metadata_value_type).
enum : std::uint32_t {
  type_u8,
  type_i8,
  type_u16,
  type_i16,
  type_u32,
  type_i32,
  type_f32,
  type_bool,
  type_string,
  type_array,
  type_u64,
  type_i64,
  type_f64
};

struct LayoutPair {
  std::string key;
  std::uint32_t type = 0;
  std::uint32_t element = 0;                          ///< of an array
  std::uint64_t integer = 0;                          ///< of an unsigned integer or bool
  std::string text;                                   ///< of a string
  std::vector<std::string> strings;                   ///< of an array of strings
  std::vector<std::int32_t> integers;                 ///< of an array of int32
  std::uint64_t count = 0;                            ///< of an array
  std::size_t key_at = 0, type_at = 0, value_at = 0;  ///< bytes from the start of the file
};

struct LayoutTensor {
  std::string name;
  std::vector<std::uint64_t> dimensions;  ///< fastest first
  std::uint32_t type = 0;
  std::uint64_t offset = 0;
  std::size_t name_at = 0, dimensions_at = 0, type_at = 0, offset_at = 0;
};

struct Layout {
  std::vector<LayoutPair> pairs;
  std::vector<LayoutTensor> tensors;
  std::size_t header_end = 0;  ///< before padding

  const LayoutPair* find(std::string_view key) const;
  const LayoutTensor* tensor(std::string_view name) const;
};

/// Throws std::runtime_error where the bytes end early, or a number is none that the format has.
Layout read_layout(std::string_view file);

/// What the specification or llama.cpp's loader of the "llama" architecture would have against the file, a sentence each; none for a sound
/// one.
std::vector<std::string> layout_complaints(std::string_view file);

/// The same, of tensors and metadata as a Llama needs them; the bytes are known to be laid out well.
void complain_about_llama(const Layout& layout, std::vector<std::string>& complaints);

}  // namespace skipstone::tests
