// JSON documents whose destruction allocates no memory. That of nlohmann::json does: the destructor moves the children to a list first, so
// that deep documents need no deep stack, and a failed allocation there ends the program. Ours are never deep, since outside input is
// read by parse_json().
#pragma once

#include <nlohmann/json.hpp>

#include "json/json_fwd.h"

namespace skipstone {

template <typename T, typename>
struct JsonSerializer : nlohmann::adl_serializer<T> {};

namespace json_detail {

/// Destroys a document's children, by recursion. The library's destructor then gets an empty container, which allocates nothing.
template <typename Document>
void clear_children(Document& document) noexcept {
  if (auto* array = document.template get_ptr<typename Document::array_t*>()) array->clear();
  if (auto* object = document.template get_ptr<typename Document::object_t*>()) object->clear();
}

}  // namespace json_detail
}  // namespace skipstone

// Until 3.11.2 the destructor does all of it; since then the destructor of a member does the rest.
#if NLOHMANN_JSON_VERSION_MAJOR == 3 && \
    (NLOHMANN_JSON_VERSION_MINOR < 11 || (NLOHMANN_JSON_VERSION_MINOR == 11 && NLOHMANN_JSON_VERSION_PATCH < 3))
#define SKIPSTONE_DESTROY_JSON m_value.destroy(m_type)
#else
#define SKIPSTONE_DESTROY_JSON static_cast<void>(0)
#endif

template <>
inline skipstone::Json::~basic_json() noexcept {
  skipstone::json_detail::clear_children(*this);
  SKIPSTONE_DESTROY_JSON;
}

template <>
inline skipstone::SortedJson::~basic_json() noexcept {
  skipstone::json_detail::clear_children(*this);
  SKIPSTONE_DESTROY_JSON;
}

#undef SKIPSTONE_DESTROY_JSON
