// Records as JSON: written, read, refused where anything is not as it should be, and what docs/report.schema.json says of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/hash.h"
#include "fixtures/failure.h"
#include "json/json.h"
#include "json/parse_json.h"
#include "made_up_record.h"
#include "report/fixed_model.h"
#include "report/record.h"

namespace cli::report::test {
namespace {

using skipstone::Code;
using skipstone::fixtures::failure_of;

Json document() { return to_json(made_up_record()); }

/// `value` instead, where a JSON pointer says.
std::string with(const std::string& pointer, const Json& value) {
  Json changed = document();
  changed[Json::json_pointer(pointer)] = value;
  return changed.dump();
}

/// The fields that a record does not need.
const std::set<std::string> may_lack = {"host", "lowest", "highest"};

void expect_refused(const std::string& text, const std::string& field, const std::string& reason) {
  const auto failure = failure_of([&] { read_record(text, "a.json"); });
  EXPECT_EQ(failure.code, Code::bad_file) << text.substr(0, 80);
  EXPECT_TRUE(failure.message.starts_with("a.json: ")) << failure.message;
  EXPECT_NE(failure.message.find(field), std::string::npos) << failure.message;
  EXPECT_NE(failure.message.find(reason), std::string::npos) << failure.message;
  EXPECT_LT(failure.message.size(), 400u);
  for (const char c : failure.message) EXPECT_GE(static_cast<unsigned char>(c), 0x20) << "a control character would reach a terminal";
}

TEST(ReportRecord, IsReadAsItWasWritten) {
  const Json written = document();
  EXPECT_EQ(to_json(read_record(written.dump(), "a.json")), written);
}

TEST(ReportRecord, WhatIsNotThereIsNull) {
  Record record = made_up_record();
  Device& device = record.devices[0];
  device.host.reset();
  device.doctor.reset();
  device.copy_bytes_per_second.reset();
  device.exactness.reset();
  device.shapes[0].prompt.reset();
  device.shapes[0].speculation.reset();
  const Json written = to_json(record);
  EXPECT_FALSE(written["devices"][0].contains("host"));
  EXPECT_TRUE(written["devices"][0]["doctor"].is_null());
  EXPECT_EQ(to_json(read_record(written.dump(), "a.json")), written);
}

TEST(ReportRecord, MachinesAreMerged) {
  Record one = made_up_record(), two = made_up_record();
  one.systems.resize(1);
  for (Device& device : one.devices) device.host.reset();
  two.systems.resize(2);
  for (Device& device : two.devices) device.host = 1;
  EXPECT_EQ(to_json(merged({one})), to_json(one));
  const Record all = merged({one, two, one});
  EXPECT_EQ(all.systems.size(), 4u);
  ASSERT_EQ(all.devices.size(), 3 * one.devices.size());
  EXPECT_EQ(all.devices.front().host, 0u);
  EXPECT_EQ(all.devices[one.devices.size()].host, 2u);
  EXPECT_EQ(all.devices.back().host, 3u);
  const Json written = to_json(all);
  EXPECT_EQ(to_json(read_record(written.dump(), "a.json")), written);
  EXPECT_EQ(failure_of([&] { merged(std::vector<Record>(257, one)); }).code, Code::unsupported);
}

TEST(ReportRecord, OtherTypesAreRefusedByField) {
  const std::vector<Json> others = {nullptr, true, -1, 1.5, "text", Json::array(), Json::object(), Json::array({1}), 1e300};
  const auto refuses = [&](const std::string& pointer, const std::string& field, const std::function<bool(const Json&)>& sound) {
    for (const Json& other : others) {
      if (!sound(other)) expect_refused(with(pointer, other), field, "");
    }
  };
  const auto is_text = [](const Json& j) { return j.is_string(); };
  const auto is_flag = [](const Json& j) { return j.is_boolean(); };
  const auto is_none = [](const Json&) { return false; };
  refuses("/date", "date", is_text);
  refuses("/quick", "quick", is_flag);
  refuses("/schema", "schema", is_none);
  refuses("/systems/0/cores", "systems[0].cores", is_none);
  refuses("/systems", "systems", is_none);
  refuses("/devices", "devices", is_none);
  refuses("/devices/0", "devices[0]", is_none);
  refuses("/devices/0/name", "devices[0].name", is_text);
  refuses("/devices/0/host", "devices[0].host", is_none);
  refuses("/devices/0/doctor", "devices[0].doctor", [](const Json& j) { return j.is_null(); });
  refuses("/devices/0/exactness/plain", "devices[0].exactness.plain", is_none);
  refuses("/devices/0/copy_bytes_per_second", "devices[0].copy_bytes_per_second", [](const Json& j) { return j.is_null() || j == 1.5; });
  refuses("/devices/0/shapes/0/passes/1/rows", "devices[0].shapes[0].passes[1].rows", is_none);
  refuses("/devices/0/shapes/0/decode/tokens_per_second", "devices[0].shapes[0].decode.tokens_per_second",
          [](const Json& j) { return j == 1.5; });
}

TEST(ReportRecord, NumbersHaveLimits) {
  const std::string text = document().dump();
  const auto replaced = [&](const std::string& number) {
    std::string changed = text;
    return changed.replace(changed.find("87.5"), 4, number);
  };
  for (const std::string number : {"NaN", "Infinity", "-Infinity", "nan", "+1", "0x10"})
    expect_refused(replaced(number), "", "not valid JSON");
  expect_refused(replaced("1e999"), "", "out of range");
  expect_refused(replaced("1e19"), "devices[0].seconds", "1e18");
  expect_refused(replaced("-0.5"), "devices[0].seconds", "from 0");
  expect_refused(with("/systems/0/cores", 4294967296), "systems[0].cores", "4294967295");
  expect_refused(with("/devices/0/host", 1), "devices[0].host", "systems has 1 elements");
}

TEST(ReportRecord, SizesHaveLimits) {
  expect_refused(with("/devices/0/name", std::string(1001, 'x')), "devices[0].name", "1001 bytes");
  expect_refused(with("/devices/0/quirks", std::vector<std::string>(257, "x")), "devices[0].quirks", "257 elements");
  expect_refused(with("/devices", Json::array()), "devices", "empty");
  expect_refused(with("/systems", Json::array()), "systems", "empty");
  expect_refused(R"({"schema": )" + std::string(100'000, '['), "", "nests deeper");
}

TEST(ReportRecord, FieldsAreAllKnownAndAllThere) {
  expect_refused(with("/devices/0/owner", "x"), "devices[0].owner", "none of a record");
  expect_refused(with("/note", "x"), "note", "none of a record");
  expect_refused(with("/\x1b[2J<script>", "x"), "\\u{1b}", "none of a record");
  const std::function<void(const Json&, const std::string&)> without_each = [&](const Json& value, const std::string& pointer) {
    for (const auto& [name, member] : value.items()) {
      const std::string place = pointer + "/" + name;
      if (value.is_object() && !may_lack.contains(name)) {
        Json changed = document();
        changed[Json::json_pointer(pointer)].erase(name);
        expect_refused(changed.dump(), name, "missing");
      }
      if (member.is_structured()) without_each(member, place);
    }
  };
  without_each(document(), "");
}

TEST(ReportRecord, OtherVersionsOfTheSchemaAreRefused) {
  for (const int version : {0, 3}) expect_refused(with("/schema_version", version), "schema_version", "reads 1 to 2");
  expect_refused(with("/schema_version", "1"), "schema_version", "whole number");
  expect_refused(with("/schema", "skipstone-profile"), "schema", "skipstone-report");
  expect_refused("[]", "", "object");
  expect_refused("", "", "not valid JSON");
  expect_refused(R"({"date": 1, "date": 2})", "date", "twice");
}

TEST(ReportRecord, TheOldestVersionLacksTheRangeOfRuns) {
  Json old = document();
  old["schema_version"] = 1;
  for (const char* rate : {"prompt", "decode"}) {
    for (const char* end : {"lowest", "highest"}) old["devices"][0]["shapes"][0][rate].erase(end);
  }
  const Record record = read_record(old.dump(), "a.json");
  EXPECT_FALSE(record.devices[0].shapes[0].decode->runs.lowest);
  EXPECT_EQ(to_json(record)["schema_version"], 2);
}

TEST(ReportRecord, DamagedBytesAreRefusedOrStillARecord) {
  const std::string text = document().dump();
  for (std::size_t at = 0; at < text.size(); at += 3) {
    for (const char byte : {'\0', '"', '}', '9', '\xff', '['}) {
      std::string damaged = text;
      damaged[at] = byte;
      try {
        to_json(read_record(damaged, "a.json"));
      } catch (const skipstone::Error& error) {
        EXPECT_EQ(error.code(), Code::bad_file);
      }
    }
    EXPECT_THROW(read_record(text.substr(0, at), "a.json"), skipstone::Error);
  }
}

/// {path: whether it must be there} of what a schema says of a value; elements of lists are "[]".
void walk_schema(const skipstone::SortedJson& root, const skipstone::SortedJson& given, const std::string& path,
                 std::map<std::string, bool>& found) {
  const auto reference = given.find("$ref");
  const skipstone::SortedJson& schema =
      reference == given.end() ? given : root[skipstone::SortedJson::json_pointer(reference->get<std::string>().substr(1))];
  for (const char* alternatives : {"anyOf", "oneOf"}) {
    for (const auto& one : schema.value(alternatives, skipstone::SortedJson::array())) walk_schema(root, one, path, found);
  }
  if (schema.contains("items")) walk_schema(root, schema["items"], path + "[]", found);
  if (!schema.contains("properties")) return;
  EXPECT_EQ(schema.value("additionalProperties", true), false) << path;
  const auto required = schema.value("required", std::vector<std::string>());
  for (const auto& [name, member] : schema["properties"].items()) {
    found[path + "." + name] = std::ranges::find(required, name) != required.end();
    walk_schema(root, member, path + "." + name, found);
  }
}

void walk_record(const Json& value, const std::string& path, std::set<std::string>& found) {
  if (value.is_array()) {
    for (const Json& element : value) walk_record(element, path + "[]", found);
  }
  if (!value.is_object()) return;
  for (const auto& [name, member] : value.items()) {
    found.insert(path + "." + name);
    walk_record(member, path + "." + name, found);
  }
}

TEST(ReportRecord, TheSchemaHasEveryFieldAndNoOther) {
  std::ifstream file(SKIPSTONE_DOCS "/report.schema.json");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto schema = skipstone::parse_json_object(text, "report.schema.json");
  std::map<std::string, bool> described;
  walk_schema(schema, schema, "", described);
  std::set<std::string> written;
  walk_record(document(), "", written);
  for (const std::string& path : written) EXPECT_TRUE(described.contains(path)) << path << " is not in the schema";
  for (const auto& [path, required] : described) {
    EXPECT_TRUE(written.contains(path)) << path << " is in the schema alone";
    EXPECT_EQ(required, !may_lack.contains(path.substr(path.rfind('.') + 1))) << path;
  }
}

TEST(ReportRecord, SentencesLoseTheirPaths) {
  EXPECT_EQ(shareable("the device is lost"), "the device is lost");
  EXPECT_EQ(shareable("'/home/anna/my models/x.gguf': cannot be read"), "(path): cannot be read");
  EXPECT_EQ(shareable("cannot open /tmp/anna: no space"), "cannot open (path) no space");
  EXPECT_EQ(shareable("('/home/anna smith.gguf')"), "((path))");
  EXPECT_EQ(shareable("see C:\\Users\\Anna now, or \"D:\\x y\""), "see (path) now, or (path)");
  EXPECT_EQ(shareable("a driver's '/opt/x"), "a driver's (path)");
  EXPECT_LT(shareable(std::string(100'000, 'x')).size(), 500u);
  EXPECT_EQ(shareable(""), "");
  EXPECT_EQ(shareable("'"), "'");
}

TEST(FixedModel, HasTheSameBytesForever) {
  // Records of all versions are compared by its texts.
  EXPECT_EQ(skipstone::fnv1a(fixed_model()), 0x48c85fe41ead5127u);
}

}  // namespace
}  // namespace cli::report::test
