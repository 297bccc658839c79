#include "grammar/schema/keywords.h"

#include <algorithm>

namespace skipstone::grammar::schema {
namespace {

constexpr Keyword table[] = {
    {"$anchor", Treatment::annotation, "a name for $ref"},
    {"$comment", Treatment::annotation, ""},
    {"$defs", Treatment::annotation, "schemas for $ref"},
    {"$id", Treatment::annotation, "a name for $ref"},
    {"$ref", Treatment::enforced, "within the document; recursion too"},
    {"$schema", Treatment::annotation, "json-schema.org's drafts alone"},
    {"additionalProperties", Treatment::enforced, ""},
    {"allOf", Treatment::enforced, ""},
    {"anyOf", Treatment::enforced, ""},
    {"const", Treatment::enforced, ""},
    {"contains", Treatment::enforced, "without prefixItems, maxItems and a minItems above 1"},
    {"contentEncoding", Treatment::annotation, ""},
    {"contentMediaType", Treatment::annotation, ""},
    {"contentSchema", Treatment::annotation, ""},
    {"default", Treatment::annotation, ""},
    {"definitions", Treatment::annotation, "schemas for $ref"},
    {"dependentRequired", Treatment::enforced, ""},
    {"dependentSchemas", Treatment::enforced, ""},
    {"deprecated", Treatment::annotation, ""},
    {"description", Treatment::annotation, ""},
    {"enum", Treatment::enforced, ""},
    {"examples", Treatment::annotation, ""},
    {"exclusiveMaximum", Treatment::enforced, ""},
    {"exclusiveMinimum", Treatment::enforced, ""},
    {"format", Treatment::enforced, "date, date-time, email, ipv4, ipv6, time, uuid"},
    {"items", Treatment::enforced, ""},
    {"maxItems", Treatment::enforced, ""},
    {"maxLength", Treatment::enforced, ""},
    {"maxProperties", Treatment::enforced, ""},
    {"maximum", Treatment::enforced, ""},
    {"minItems", Treatment::enforced, ""},
    {"minLength", Treatment::enforced, ""},
    {"minProperties", Treatment::enforced, "at most one name that the schema does not have"},
    {"minimum", Treatment::enforced, ""},
    {"multipleOf", Treatment::enforced, "factors of up to 10000 in their last digit"},
    {"oneOf", Treatment::enforced, "of alternatives that exclude each other"},
    {"pattern", Treatment::enforced, "the subset of regular expressions"},
    {"patternProperties", Treatment::enforced, "up to 6 patterns"},
    {"prefixItems", Treatment::enforced, "up to 256"},
    {"properties", Treatment::enforced, ""},
    {"propertyNames", Treatment::enforced, ""},
    {"readOnly", Treatment::annotation, ""},
    {"required", Treatment::enforced, ""},
    {"title", Treatment::annotation, ""},
    {"type", Treatment::enforced, ""},
    {"uniqueItems", Treatment::enforced, "false alone"},
    {"writeOnly", Treatment::annotation, ""},
};
static_assert(std::ranges::is_sorted(table, {}, &Keyword::name));

}  // namespace

std::span<const Keyword> keywords() { return table; }

const Keyword* find_keyword(std::string_view name) {
  const auto found = std::ranges::lower_bound(table, name, {}, &Keyword::name);
  return found == std::end(table) || found->name != name ? nullptr : found;
}

}  // namespace skipstone::grammar::schema
