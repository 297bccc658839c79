#include <algorithm>
#include <functional>
#include <map>

#include "base/status.h"
#include "grammar/schema/keywords.h"
#include "grammar/schema/shape.h"
#include "json/parse_json.h"

namespace skipstone::grammar::schema {
namespace {

/// Reads one schema's keywords.
class KeywordReader {
 public:
  KeywordReader(const Document& document, const SortedJson& schema, Shape& shape, Form form)
      : document_(document), schema_(schema), shape_(shape), form_(form) {}

  void read() {
    for (const auto& [key, value] : schema_.items()) {
      if (find_keyword(key) == nullptr) refuse(value, "this keyword is not enforced (skipstone grammar --keywords lists those that are)");
      read_keyword(key, value);
    }
  }

 private:
  [[noreturn]] void refuse(const SortedJson& part, const std::string& what) const {
    const std::string place = document_.pointer(part);
    fail_about(place, Code::unsupported, "{}: {}", place, what);
  }
  [[noreturn]] void refuse_form(const SortedJson& part, const char* wanted) const {
    const std::string place = document_.pointer(part);
    fail_about(place, Code::invalid_argument, "{}: {} was expected and {} is there", place, wanted, shown(part));
  }

  std::uint32_t count(const SortedJson& value) const {
    const double number = value.is_number() ? value.get<double>() : -1;
    if (number < 0 || number != static_cast<double>(static_cast<std::int64_t>(std::min(number, 1e9))))
      refuse_form(value, "a whole number from 0 to 1000000000");
    return static_cast<std::uint32_t>(number);
  }
  void at_least(Counts& counts, const SortedJson& value) const { counts.least = std::max(counts.least, count(value)); }
  void at_most(Counts& counts, const SortedJson& value) const { counts.most = std::min(counts.most, count(value)); }
  void bound(Relation relation, const SortedJson& value) const {
    if (!value.is_number()) refuse_form(value, "a number");
    shape_.numbers.bounds.push_back({relation, Decimal::parse(value.dump())});
  }
  const std::string& string(const SortedJson& value) const {
    if (!value.is_string()) refuse_form(value, "a string");
    return value.get_ref<const std::string&>();
  }
  void expect_object(const SortedJson& value) const {
    if (!value.is_object()) refuse_form(value, "an object");
  }
  void expect_array(const SortedJson& value) const {
    if (!value.is_array()) refuse_form(value, "an array");
  }

  void read_keyword(const std::string& key, const SortedJson& value) {
    using Read = std::function<void(KeywordReader&, const SortedJson&)>;
    static const std::map<std::string, Read, std::less<>> readers{
        {"type", [](KeywordReader& self, const SortedJson& v) { self.read_types(v); }},
        {"enum", [](KeywordReader& self, const SortedJson& v) { self.read_enum(v); }},
        {"const", [](KeywordReader& self, const SortedJson& v) { self.keep_values({&v}); }},
        {"minimum", [](KeywordReader& self, const SortedJson& v) { self.bound(Relation::at_least, v); }},
        {"maximum", [](KeywordReader& self, const SortedJson& v) { self.bound(Relation::at_most, v); }},
        {"exclusiveMinimum", [](KeywordReader& self, const SortedJson& v) { self.bound(Relation::above, v); }},
        {"exclusiveMaximum", [](KeywordReader& self, const SortedJson& v) { self.bound(Relation::below, v); }},
        {"multipleOf", [](KeywordReader& self, const SortedJson& v) { self.read_factor(v); }},
        {"minLength", [](KeywordReader& self, const SortedJson& v) { self.at_least(self.shape_.lengths, v); }},
        {"maxLength", [](KeywordReader& self, const SortedJson& v) { self.at_most(self.shape_.lengths, v); }},
        {"pattern", [](KeywordReader& self, const SortedJson& v) { self.shape_.patterns.push_back(self.string(v)); }},
        {"format", [](KeywordReader& self, const SortedJson& v) { self.read_format(v); }},
        {"minItems", [](KeywordReader& self, const SortedJson& v) { self.at_least(self.shape_.items, v); }},
        {"maxItems", [](KeywordReader& self, const SortedJson& v) { self.at_most(self.shape_.items, v); }},
        {"items", [](KeywordReader& self, const SortedJson& v) { self.read_items(v); }},
        {"prefixItems", [](KeywordReader& self, const SortedJson& v) { self.expect_array(v), self.add_once(self.shape_.arrays); }},
        {"contains", [](KeywordReader& self, const SortedJson& v) { self.shape_.contained.push_back(&v); }},
        {"uniqueItems", [](KeywordReader& self, const SortedJson& v) { self.read_unique(v); }},
        {"minProperties", [](KeywordReader& self, const SortedJson& v) { self.at_least(self.shape_.members, v); }},
        {"maxProperties", [](KeywordReader& self, const SortedJson& v) { self.at_most(self.shape_.members, v); }},
        {"required", [](KeywordReader& self, const SortedJson& v) { self.read_required(v); }},
        {"properties", [](KeywordReader& self, const SortedJson& v) { self.expect_object(v), self.add_once(self.shape_.objects); }},
        {"patternProperties", [](KeywordReader& self, const SortedJson& v) { self.expect_object(v), self.add_once(self.shape_.objects); }},
        {"additionalProperties", [](KeywordReader& self, const SortedJson&) { self.add_once(self.shape_.objects); }},
        {"propertyNames", [](KeywordReader& self, const SortedJson& v) { self.shape_.names.push_back(&v); }},
        {"dependentRequired", [](KeywordReader& self, const SortedJson& v) { self.expect_object(v); }},
        {"dependentSchemas", [](KeywordReader& self, const SortedJson& v) { self.expect_object(v); }},
        {"$schema", [](KeywordReader& self, const SortedJson& v) { self.read_dialect(v); }},
    };
    if (const auto reader = readers.find(key); reader != readers.end()) reader->second(*this, value);
  }

  void add_once(Conjunction& schemas) const {
    if (schemas.empty() || schemas.back() != &schema_) schemas.push_back(&schema_);
  }

  void read_types(const SortedJson& value) const {
    static const std::map<std::string, unsigned, std::less<>> bits{
        {"null", null_type},     {"boolean", boolean_type}, {"number", number_type}, {"integer", number_type},
        {"string", string_type}, {"array", array_type},     {"object", object_type}};
    const SortedJson list = value.is_array() ? value : SortedJson::array({value});
    unsigned types = 0;
    bool integer = false, number = false;
    for (const SortedJson& name : list) {
      const auto found = name.is_string() ? bits.find(name.get_ref<const std::string&>()) : bits.end();
      if (found == bits.end()) refuse_form(value, "a type's name, or an array of such names,");
      types |= found->second;
      integer = integer || name == "integer";
      number = number || name == "number";
    }
    shape_.types &= types;
    if (integer && !number) shape_.numbers.integer = true;
  }

  void read_enum(const SortedJson& value) const {
    expect_array(value);
    std::vector<const SortedJson*> values;
    for (const SortedJson& one : value) values.push_back(&one);
    keep_values(std::move(values));
  }

  void keep_values(std::vector<const SortedJson*> values) const {
    if (shape_.values) {
      const ValueSet others(shape_.values->begin(), shape_.values->end());
      std::erase_if(values, [&](const SortedJson* value) { return !others.contains(value); });
    }
    shape_.values = std::move(values);
  }

  void read_factor(const SortedJson& value) const {
    if (!value.is_number() || value.get<double>() <= 0) refuse_form(value, "a number above 0");
    shape_.numbers.factors.push_back(Decimal::parse(value.dump()));
  }

  void read_format(const SortedJson& value) const {
    if (find_format(string(value), form_) == nullptr)
      refuse(value, "this format is not enforced (skipstone grammar --keywords lists those that are)");
    shape_.formats.push_back(string(value));
  }

  void read_items(const SortedJson& value) const {
    if (value.is_array()) refuse(value, "an array of schemas is prefixItems since draft 2020-12");
    add_once(shape_.arrays);
  }

  void read_unique(const SortedJson& value) const {
    if (!value.is_boolean()) refuse_form(value, "a boolean");
    if (value.get<bool>()) refuse(value, "this keyword is not enforced where it is true");
  }

  void read_required(const SortedJson& value) const {
    expect_array(value);
    for (const SortedJson& name : value) shape_.require_member(string(name));
  }

  void read_dialect(const SortedJson& value) const {
    static const char* const known[] = {"draft/2020-12", "draft/2019-09", "draft-07", "draft-06", "draft-04"};
    const std::string& uri = string(value);
    const bool is_known = std::ranges::any_of(
        known, [&](const char* name) { return uri.find(std::string("://json-schema.org/") + name + "/schema") != std::string::npos; });
    if (!is_known) refuse(value, "this dialect of JSON Schema is not known");
  }

  const Document& document_;
  const SortedJson& schema_;
  Shape& shape_;
  Form form_;
};

}  // namespace

void Shape::require_member(const std::string& key) {
  if (required_names.insert(key).second) required.push_back(key);
}

void add_keywords(const Document& document, const SortedJson& schema, Shape& shape, Form form) {
  KeywordReader(document, schema, shape, form).read();
}

}  // namespace skipstone::grammar::schema
