#include "tune/choices_json.h"

#include <array>
#include <optional>
#include <string>

#include "json/json.h"

namespace skipstone::tune {
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
    if (key && v) choices.matvec[*key] = {(*v)[0], (*v)[1], (*v)[2], (*v)[3]};
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
