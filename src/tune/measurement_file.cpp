#include "tune/measurement_file.h"

#include <fmt/format.h>

#include <span>
#include <system_error>

#include "base/hash.h"
#include "base/input_file.h"
#include "base/log.h"
#include "base/output_file.h"
#include "base/platform/files.h"
#include "base/status.h"
#include "json/json.h"
#include "json/parse_json.h"

namespace skipstone::tune {
namespace {

constexpr std::uint64_t most_bytes = 1u << 20;

std::string hex(std::uint64_t value) { return fmt::format("{:016x}", value); }

std::string print(const Json& document) { return document.dump(-1, ' ', false, Json::error_handler_t::replace); }

template <typename Bytes>
std::string hex_of(const Bytes& bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace

Json device_key(const vk::Caps& caps, std::uint64_t shader_hash) {
  return {{"device", caps.name},
          {"vendor_id", caps.vendor_id},
          {"device_id", caps.device_id},
          {"device_uuid", hex_of(caps.device_uuid)},
          {"driver", caps.driver_name},
          {"driver_info", caps.driver_info},
          {"driver_version", caps.driver_version},
          {"driver_uuid", hex_of(caps.driver_uuid)},
          {"subgroup", caps.subgroup_size},  // a CPU driver's vector width is a setting
          {"kernels", hex(shader_hash)}};
}

MeasurementFile::MeasurementFile(const std::string& directory, const std::string& kind, const Json& key) : key_(print(key)) {
  if (!directory.empty()) path_ = fmt::format("{}/{}.{}.json", directory, hex(fnv1a(key_)), kind);
}

std::optional<Json> MeasurementFile::read() const {
  if (path_.empty() || !platform::is_there(path_)) return std::nullopt;
  const auto ignored = [&](const char* why) {
    log::debug("'{}' is ignored: {}", path_, why);
    return std::nullopt;
  };
  Json document;
  try {
    document = parse_json<Json>(read_whole_file(path_, most_bytes), path_);
  } catch (const Error& failure) {
    return ignored(failure.what());
  }
  if (!document.is_object() || !document.contains("key") || !document.contains("measured") || !document.contains("checksum"))
    return ignored("it is no file of measurements");
  if (print(document["key"]) != key_) return ignored("it belongs to another device, driver or build");
  if (document["checksum"] != hex(fnv1a(print(document["measured"])))) return ignored("it is damaged");
  return document["measured"];
}

void MeasurementFile::write(const Json& measured) const {
  if (path_.empty()) return;
  platform::create_folder_of(path_);
  const Json document{{"key", Json::parse(key_)}, {"measured", measured}, {"checksum", hex(fnv1a(print(measured)))}};
  const std::string text = document.dump(1) + "\n";
  try {
    write_whole_file(path_, std::as_bytes(std::span(text)));
  } catch (const Error& failure) {
    log::warning("measurements could not be saved: {}", failure.what());
  }
}

}  // namespace skipstone::tune
