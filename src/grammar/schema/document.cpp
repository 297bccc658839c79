#include "grammar/schema/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/escape.h"
#include "base/number.h"
#include "base/status.h"
#include "json/json_parts.h"
#include "json/parse_json.h"

namespace skipstone::grammar::schema {
namespace {

constexpr std::size_t most_bytes = std::size_t{512} << 10;

/// Keywords whose value is a schema, or an object or array of schemas.
constexpr std::array schema_keywords = {
    "additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"};
constexpr std::array list_keywords = {"allOf", "anyOf", "oneOf", "prefixItems"};
constexpr std::array map_keywords = {"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"};

bool has_scheme(std::string_view uri) {
  const std::size_t colon = uri.find(':');
  return colon != std::string_view::npos && colon > 0 && uri.substr(0, colon).find_first_of("/#?") == std::string_view::npos;
}

std::string without_fragment(const std::string& uri) { return uri.substr(0, uri.find('#')); }

/// RFC 3986, section 5.2, for what schemas contain: references without "..".
std::string resolved(const std::string& base, const std::string& reference) {
  if (has_scheme(reference)) return reference;
  if (reference.empty() || reference.front() == '#') return without_fragment(base) + reference;
  const std::size_t authority = base.find("//");
  if (reference.front() == '/') {
    const std::size_t path = authority == std::string::npos ? 0 : std::min(base.find('/', authority + 2), base.size());
    return base.substr(0, path) + reference;
  }
  const std::size_t slash = base.rfind('/');
  if (slash == std::string::npos || (authority != std::string::npos && slash < authority + 2)) return base + "/" + reference;
  return base.substr(0, slash + 1) + reference;
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    const char* const digits = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() && std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2) {
      out += static_cast<char>(value);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) text.replace(at, from.size(), to);
  return text;
}

/// What a JSON pointer (RFC 6901) leads to; null where there is nothing.
const SortedJson* follow(const SortedJson* part, std::string_view pointer) {
  while (part != nullptr && !pointer.empty()) {
    pointer.remove_prefix(1);
    const std::size_t end = std::min(pointer.find('/'), pointer.size());
    const std::string key = replaced(replaced(std::string(pointer.substr(0, end)), "~1", "/"), "~0", "~");
    pointer.remove_prefix(end);
    const SortedJson* next = nullptr;
    if (part->is_object()) {
      const auto found = part->find(key);
      if (found != part->end()) next = &*found;
    } else if (part->is_array()) {
      const auto number = parse_number<std::size_t>(key);
      if (number && *number < part->size()) next = &(*part)[*number];
    }
    part = next;
  }
  return part;
}

}  // namespace

Document::Document(std::string_view text) {
  if (text.size() > most_bytes) fail(Code::invalid_argument, "the schema is longer than {} bytes", most_bytes);
  try {
    root_ = parse_json<SortedJson>(text, "the schema");
  } catch (const Error& error) {
    throw Error(Code::invalid_argument, error.what());
  }
  index(root_, text);
  index_identifiers(root_, "");
  resources_.emplace("", &root_);
}

void Document::index(const SortedJson& part, std::string_view text) {
  if (part.is_object()) {
    for (const auto& [key, value] : json_members(text)) {
      const SortedJson& child = part.at(key);
      places_[&child] = {&part, key};
      keys_[&part].push_back(key);
      index(child, value);
    }
    keys_[&part];
  } else if (part.is_array()) {
    const std::vector<std::string_view> items = json_items(text);
    for (std::size_t i = 0; i < items.size(); ++i) {
      places_[&part[i]] = {&part, std::to_string(i)};
      index(part[i], items[i]);
    }
  }
}

void Document::name(const std::string& uri, const SortedJson& schema) {
  if (!resources_.emplace(uri, &schema).second)
    fail(Code::invalid_argument, "{}: another part of the schema has the name '{}' too", pointer(schema), shortened(uri));
}

void Document::index_identifiers(const SortedJson& schema, std::string base) {
  if (!schema.is_object()) return;
  const auto text_of = [&](const char* key) {
    const auto found = schema.find(key);
    return found == schema.end() || !found->is_string() ? std::string() : found->get<std::string>();
  };
  if (const std::string id = text_of("$id"); !id.empty()) {
    base = without_fragment(resolved(base, id));
    name(base, schema);
  }
  bases_[&schema] = base;
  for (const char* const key : {"$anchor", "$dynamicAnchor"}) {
    if (const std::string anchor = text_of(key); !anchor.empty()) name(fmt::format("{}#{}", base, anchor), schema);
  }
  for (const char* const key : schema_keywords) {
    if (const auto found = schema.find(key); found != schema.end()) index_identifiers(*found, base);
  }
  const auto each = [&](const char* key) {
    const auto found = schema.find(key);
    if (found == schema.end() || !found->is_structured()) return;
    for (const SortedJson& child : *found) index_identifiers(child, base);
  };
  for (const char* const key : list_keywords) each(key);
  for (const char* const key : map_keywords) each(key);
}

const std::string& Document::base_of(const SortedJson& schema) const {
  const SortedJson* part = &schema;
  while (!bases_.contains(part)) part = places_.at(part).parent;
  return bases_.at(part);
}

std::string Document::pointer(const SortedJson& part) const {
  std::vector<const std::string*> keys;
  for (auto place = places_.find(&part); place != places_.end(); place = places_.find(place->second.parent)) {
    keys.push_back(&place->second.key);
  }
  std::string text = "#";
  for (auto key = keys.rbegin(); key != keys.rend(); ++key) text.append("/").append(replaced(replaced(**key, "~", "~0"), "/", "~1"));
  return text;
}

const SortedJson& Document::resolve(const SortedJson& schema, const std::string& reference) const {
  const std::string uri = resolved(base_of(schema), reference);
  const std::size_t hash = std::min(uri.find('#'), uri.size());
  const std::string fragment = percent_decoded(std::string_view(uri).substr(std::min(hash + 1, uri.size())));
  const auto resource = resources_.find(uri.substr(0, hash));
  if (resource == resources_.end())
    fail(Code::unsupported, "{}: $ref '{}' refers to another document, and only this one is read", pointer(schema), shortened(reference));
  const SortedJson* target = nullptr;
  if (fragment.empty() || fragment.front() == '/') {
    target = follow(resource->second, fragment);
  } else if (const auto anchor = resources_.find(uri.substr(0, hash) + "#" + fragment); anchor != resources_.end()) {
    target = anchor->second;
  }
  if (target == nullptr) fail(Code::invalid_argument, "{}: $ref '{}' refers to nothing", pointer(schema), shortened(reference));
  return *target;
}

}  // namespace skipstone::grammar::schema
