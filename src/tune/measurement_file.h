// Measurements of one device and driver, the selector's choices among them, kept in the cache folder as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "json/json_fwd.h"
#include "kernels/choices.h"
#include "vk/caps.h"

namespace skipstone::tune {

/// Properties that measurements of kernels depend on: device, driver, width of its subgroups, the kernels' code. Part of a key.
Json device_key(const vk::Caps& caps, std::uint64_t shader_hash);

/// One document, valid for exactly one key. A file that cannot be read, is damaged or has another key is treated as missing.
class MeasurementFile {
 public:
  /// `directory`: "" for no file at all. `kind`: "choices", "costs"; part of the name. `key`: everything that the measurements depend on.
  MeasurementFile(const std::string& directory, const std::string& kind, const Json& key);

  std::optional<Json> read() const;
  /// Replaces the file as a whole; a failure to write it is only logged.
  void write(const Json& measured) const;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::string key_;  ///< as text
};

/// {"matvec": [{"format": "Q8_0", "rows": 4, "choice": [lanes, k_lanes, rows, columns]}], "matmul": [{"format": "Q8_0", "shape": [n, rows],
/// "choice": [tile]}], "attention": [...]}
Json to_json(const kernels::Choices& choices);

/// Invalid entries are left out, whatever the document is.
kernels::Choices choices_from(const Json& document);

}  // namespace skipstone::tune
