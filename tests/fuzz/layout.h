// Where the fields of a binary file lie, so that a mutation can change a count or a type and leave the rest whole.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace skipstone::fuzz {

/// How a field is written.
enum class Coding { little_endian, varint, text };

struct Field {
  std::size_t at = 0, size = 0;  ///< in bytes
  Coding coding = Coding::little_endian;
  std::size_t length_field = 0;  ///< of a text: the index of the field that says how long it is
};

/// A part that can be taken out, repeated or exchanged with another of its kind: a metadata pair, a tensor's description, a piece.
struct Record {
  std::size_t begin = 0, end = 0;
};

struct Layout {
  std::vector<Field> fields;
  std::vector<Record> records;
};

/// The formats, each as far as `bytes` keeps to it; what follows the first place that does not has no fields.
Layout gguf_layout(std::string_view bytes);
Layout sentencepiece_layout(std::string_view bytes);
/// The length of the header; the header itself is JSON.
Layout safetensors_layout(std::string_view bytes);
/// Words of 4 bytes, for files that are tables of numbers behind a short head.
Layout words_layout(std::string_view bytes);

}  // namespace skipstone::fuzz
