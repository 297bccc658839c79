// GGUF files, versions 2 and 3: a reader that trusts nothing, split files included.
// Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/escape.h"
#include "gguf/traits.h"

namespace skipstone::gguf {

struct Array;
struct Part;

/// Of general.alignment: the default where a file has none, and the largest one that is read and written.
inline constexpr std::uint32_t default_alignment = 32, largest_alignment = 1u << 20;

/// A metadata value. Integers keep their width so that a writer gives back the same bytes.
using Value = std::variant<std::uint8_t, std::int8_t, std::uint16_t, std::int16_t, std::uint32_t, std::int32_t, float, bool, std::string,
                           std::uint64_t, std::int64_t, double, std::shared_ptr<const Array>>;

/// A metadata array; the alternatives mirror the element types of the format. Arrays of arrays are refused by the reader.
struct Array {
  std::variant<std::vector<std::uint8_t>, std::vector<std::int8_t>, std::vector<std::uint16_t>, std::vector<std::int16_t>,
               std::vector<std::uint32_t>, std::vector<std::int32_t>, std::vector<float>, std::vector<bool>, std::vector<std::string>,
               std::vector<std::uint64_t>, std::vector<std::int64_t>, std::vector<double>>
      items;
  std::size_t size() const;
};

struct Pair {
  std::string key;
  Value value;
};

/// A tensor's description and its bytes, which stay in the file until they are asked for.
struct Tensor {
  std::string name;
  Type type = Type::f32;
  std::uint32_t dimensions = 1;                    ///< 1..4
  std::array<std::uint64_t, 4> shape{1, 1, 1, 1};  ///< fastest first, as in the file: {K, N} for a matrix of N rows of K weights
  Bytes data;                                      ///< exactly the bytes that shape and type ask for
  std::uint64_t elements() const { return shape[0] * shape[1] * shape[2] * shape[3]; }
  std::uint64_t row_length() const { return shape[0]; }
  std::uint64_t rows() const { return shape[1] * shape[2] * shape[3]; }
};

/// An open model file (all parts of a split one). Movable, not copyable; closes on destruction.
class File {
 public:
  /// Opens `path`, checks every count, offset, alignment, shape and string length against the file's size, and parses it.
  /// "x-00001-of-00003.gguf" opens the other parts too.
  /// Throws Error: not_found, io, bad_file (what is damaged, at which byte), unsupported (version, big endian).
  static File open(const std::string& path);

  /// A model that is one whole file; a part of a split one is unsupported. Throws as above.
  static File open(std::shared_ptr<const InputFile> file);

  /// A model that is no file: metadata and the tensors' names, types and shapes, without data but of those that need some to be understood
  /// (rotary factors); `memory` owns the bytes that those point into. `name` takes the place of the path.
  static File describe(const std::string& name, std::vector<Pair> metadata, std::vector<Tensor> tensors,
                       std::shared_ptr<const void> memory = {});

  /// This model with `tensors` of another file besides, as if they were in its own, and with `metadata` in place of its values of these
  /// keys or after them. Path, version and fingerprint stay. Throws bad_file where it has a tensor of such a name.
  File joined(const File& other, std::vector<Tensor> tensors, std::vector<Pair> metadata) &&;

  File(File&&) noexcept;
  File& operator=(File&&) noexcept;
  ~File();

  const std::string& path() const;
  bool has_data() const;  ///< false for described ones, whose weights have none
  std::uint32_t version() const;
  std::uint64_t file_bytes() const;  ///< of all parts, and of a file that it is joined with
  std::span<const Pair> metadata() const;
  std::span<const Tensor> tensors() const;

  const Value* find(std::string_view key) const;           ///< nullptr where absent
  const Tensor* find_tensor(std::string_view name) const;  ///< nullptr where absent

  /// Typed look-ups. An absent key gives the fallback; a key of the wrong kind throws bad_file naming key, wanted and found type.
  /// Any integer type (and bool for integers) is taken where the value fits.
  std::uint64_t integer(std::string_view key, std::uint64_t fallback) const;
  double number(std::string_view key, double fallback) const;
  bool boolean(std::string_view key, bool fallback) const;
  std::string string(std::string_view key, std::string_view fallback) const;
  const std::vector<std::string>* strings(std::string_view key) const;  ///< nullptr where absent
  std::vector<float> floats(std::string_view key) const;                ///< empty where absent
  std::vector<std::int32_t> integers(std::string_view key) const;       ///< empty where absent
  std::uint64_t required_integer(std::string_view key) const;           ///< throws bad_file where absent

  /// SHA-256-free identity for caches and records: 16 hex digits of a 64-bit hash over header, tensor table and samples of the data.
  std::string fingerprint() const;
  /// That of the other file of joined(); "" where there is none.
  const std::string& joined_fingerprint() const;

 private:
  struct Impl;
  explicit File(std::unique_ptr<Impl> impl);
  static File from_parts(const std::string& path, std::vector<Part> parts);
  std::unique_ptr<Impl> impl_;
};

/// All of a tensor's weights; `out` has room for as many. Throws like dequantize() of bytes.
void dequantize(const Tensor& tensor, std::span<float> out);

using skipstone::escaped;

/// The type of a value in words: "uint32", "string", "array of 3 float32".
std::string type_name(const Value& value);

/// The value as a person would want to read it: arrays shortened to a few items and their length.
std::string to_display(const Value& value);

}  // namespace skipstone::gguf
