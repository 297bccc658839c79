#include "tune/measurement_file.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <span>
#include <string>
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

namespace {

template <std::size_t Count>
std::optional<std::array<std::uint32_t, Count>> numbers(const Json& entry, const char* name) {
  if (!entry.is_object() || !entry.contains(name)) return std::nullopt;
  const Json& list = entry[name];
  if (!list.is_array() || list.size() != Count) return std::nullopt;
  std::array<std::uint32_t, Count> values{};
  for (std::size_t i = 0; i < Count; ++i) {
    if (!list[i].is_number_unsigned() || list[i].get<std::uint64_t>() > 1u << 20) return std::nullopt;
    values[i] = list[i].get<std::uint32_t>();
  }
  return values;
}

std::optional<gguf::Type> format_of(const Json& entry) {
  if (!entry.is_object() || !entry.contains("format") || !entry["format"].is_string()) return std::nullopt;
  const gguf::Traits* traits = gguf::find_runnable(entry["format"].get<std::string>());
  return traits == nullptr ? std::nullopt : std::optional(traits->type);
}

std::optional<kernels::Choices::MatrixKey> matrix_key(const Json& entry) {
  const auto format = format_of(entry);
  if (!format || !entry.contains("rows") || !entry["rows"].is_number_unsigned()) return std::nullopt;
  return std::pair{*format, entry["rows"].get<std::uint32_t>()};
}

/// The list at `name`; empty if there is none.
Json entries(const Json& document, const char* name) {
  if (!document.is_object() || !document.contains(name) || !document[name].is_array()) return Json::array();
  return document[name];
}

}  // namespace

Json to_json(const kernels::Choices& choices) {
  Json matvec = Json::array(), matmul = Json::array(), attention = Json::array();
  for (const auto& [key, c] : choices.matvec) {
    matvec.push_back({{"format", gguf::traits(key.first).name}, {"rows", key.second}, {"choice", {c.lanes, c.k_lanes, c.rows, c.columns}}});
    if (c.shared_table) matvec.back()["shared_table"] = true;
  }
  for (const auto& [key, tile] : choices.matmul) {
    matmul.push_back({{"format", gguf::traits(key.format).name}, {"shape", {key.n, key.bucket}}, {"choice", Json::array({tile})}});
  }
  for (const auto& [key, c] : choices.attention) {
    attention.push_back({{"shape", {key.group, key.head_dim, key.bucket}}, {"choice", {c.lanes, c.heads, c.rows}}});
  }
  return {{"matvec", std::move(matvec)}, {"matmul", std::move(matmul)}, {"attention", std::move(attention)}};
}

kernels::Choices choices_from(const Json& document) {
  kernels::Choices choices;
  for (const Json& entry : entries(document, "matvec")) {
    const auto key = matrix_key(entry);
    const auto v = numbers<4>(entry, "choice");
    if (key && v)
      choices.matvec[*key] = {(*v)[0], (*v)[1], (*v)[2], (*v)[3], entry.contains("shared_table") && entry["shared_table"] == true};
  }
  for (const Json& entry : entries(document, "matmul")) {
    const auto format = format_of(entry);
    const auto shape = numbers<2>(entry, "shape");
    const auto v = numbers<1>(entry, "choice");
    if (format && shape && v) choices.matmul[{*format, (*shape)[0], (*shape)[1]}] = (*v)[0];
  }
  for (const Json& entry : entries(document, "attention")) {
    const auto shape = numbers<3>(entry, "shape");
    const auto v = numbers<3>(entry, "choice");
    if (shape && v) choices.attention[{(*shape)[0], (*shape)[1], (*shape)[2]}] = {(*v)[0], (*v)[1], (*v)[2]};
  }
  return choices;
}

}  // namespace skipstone::tune
