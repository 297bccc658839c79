// Damages files by their structure: lengths, counts, offsets, types, texts, nesting, order, doubled and missing parts, ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace skipstone::fuzz {

/// What a file is, hence where it can be hurt.
enum class Kind { gguf, safetensors, sentencepiece, json, json_lines, words };

/// A damaged copy of `bytes`; the same for the same seed on every machine. It may happen to be sound.
std::string mutate(Kind kind, const std::string& bytes, std::uint64_t seed);

/// Damages chat templates by their tags and expressions, and byte by byte: a damaged copy of one of `templates`, with parts of the others;
/// the same for the same seed on every machine. It may happen to be sound.
std::string mutated_template(const std::vector<std::string>& templates, std::uint64_t seed);

// The parts of mutators.

/// Pseudo-random choices that a seed decides, the same on every machine: SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom
/// number generators", OOPSLA 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// From 0 to `count` - 1; 0 where `count` is 0.
  std::size_t below(std::size_t count) { return count == 0 ? 0 : static_cast<std::size_t>(next() % count); }
  bool one_in(std::size_t count) { return below(count) == 0; }
  /// One of a container's elements, which must not be empty.
  template <typename Container>
  auto& pick(Container& from) {
    return from[below(from.size())];
  }

 private:
  std::uint64_t state_;
};

/// In place of `value` in a file of `file_bytes`: around it, around the file's size, around powers of two, float patterns, any.
std::uint64_t hostile_number(std::uint64_t value, std::size_t file_bytes, Random& random);

/// In place of `text`: empty, long, control characters, bytes that are no UTF-8, format strings, another letter.
std::string hostile_text(std::string text, Random& random);

/// Of a text that is no JSON, bytes are changed.
std::string mutate_json(const std::string& text, Random& random);

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
