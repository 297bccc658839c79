// Writes GGUF version 3. Used by tests and by the tools that convert and quantise.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "gguf/gguf.h"

namespace skipstone::gguf {

/// Collects metadata and tensors, then writes them to `path` through a temporary file that is renamed at the end:
/// there is never a half-written file under the final name.
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

  /// Throws io with the reason (full disk, no permission); nothing is left behind then.
  void write(const std::string& path) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace skipstone::gguf
