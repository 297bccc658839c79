// Writes GGUF version 3. Used by tests and by the tools that convert and quantise.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "gguf/gguf.h"

namespace skipstone::gguf {

/// Fills `out` with the bytes of whole rows from row `first_row` on (a row is shape[0] weights). write() asks for all rows in order, some
/// at a time, so that a model never has to be in memory. May throw; write() then leaves no file.
using RowSource = std::function<void(std::uint64_t first_row, std::span<std::byte> out)>;

/// Bytes of tensor data written so far and in all; false cancels.
using WriteProgress = std::function<bool(std::uint64_t written, std::uint64_t total)>;

/// Collects metadata and tensors, then writes them to `path` through a temporary file that is renamed at the end:
/// there is never a half-written file under the final name. Sparse matrices are stored as sparse.h says, with the metadata that name them.
class Writer {
 public:
  Writer();
  ~Writer();

  void set(std::string key, Value value);  ///< later calls with the same key replace the value
  void set_strings(std::string key, std::vector<std::string> items);
  void set_floats(std::string key, std::vector<float> items);
  void set_integers(std::string key, std::vector<std::int32_t> items);

  /// `shape` fastest first, 1..4 dimensions. The bytes are copied.
  void add_tensor(std::string name, Type type, std::span<const std::uint64_t> shape, std::span<const std::byte> data);
  /// Quantises `weights` to `type` on the way.
  void add_tensor(std::string name, Type type, std::span<const std::uint64_t> shape, std::span<const float> weights);

  /// The bytes come from `source` when write() gets to them.
  void add_tensor(std::string name, Type type, std::span<const std::uint64_t> shape, RowSource source);

  /// Throws io with the reason (full disk, no permission), cancelled where `progress` said so; no file is left then.
  void write(const std::string& path, const WriteProgress& progress = {}) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace skipstone::gguf
