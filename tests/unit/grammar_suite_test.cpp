// The JSON Schema Test Suite, draft 2020-12 (https://github.com/json-schema-org/JSON-Schema-Test-Suite): of the schemas that are accepted,
// every valid instance fits and no other one does, however it is written. tools/test fetches the suite; without it the tests are skipped.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "grammar_fixture.h"
#include "json/json.h"
#include "json/parse_json.h"

namespace skipstone::grammar {
namespace {

namespace filesystem = std::filesystem;

struct Tally {
  int accepted = 0, refused = 0;  ///< schemas
  int instances = 0;              ///< of accepted ones
};

std::string suite() {
  const char* const given = std::getenv("SKIPSTONE_JSON_SCHEMA_SUITE");
  return given == nullptr ? SKIPSTONE_JSON_SCHEMA_SUITE : given;
}

/// Numbers as JavaScript writes them: 1.0 is 1.
void write_whole_numbers(Json& value) {
  if (value.is_structured()) {
    for (Json& child : value) write_whole_numbers(child);
  } else if (value.is_number_float()) {
    const auto number = value.get<double>();
    const bool whole = number >= -1e18 && number <= 1e18 && number == static_cast<double>(static_cast<std::int64_t>(number));
    if (whole) value = static_cast<std::int64_t>(number);
  }
}

Tally run_file(const filesystem::path& file) {
  std::ostringstream bytes;
  bytes << std::ifstream(file, std::ios::binary).rdbuf();
  Tally tally;
  for (const Json& group : Json::parse(bytes.str())) {
    const std::string name = file.filename().string() + ": " + group["description"].get<std::string>();
    std::shared_ptr<const Automaton> automaton;
    try {
      automaton = Automaton::make(schema::parse_schema(group["schema"].dump(), Form::any));
    } catch (const Error& error) {
      const std::string sentence = error.what();
      const bool nothing_fits = sentence.find("nothing fits") == 0;
      for (const Json& test : group["tests"]) EXPECT_FALSE(nothing_fits && test["valid"].get<bool>()) << name;
      EXPECT_TRUE(nothing_fits || sentence.find('#') != std::string::npos || sentence.find("regular expression") != std::string::npos ||
                  sentence.find("multipleOf") == 0 || sentence.find("minProperties") == 0)
          << name << ": " << sentence;
      (nothing_fits ? tally.accepted : tally.refused)++;
      continue;
    }
    ++tally.accepted;
    for (const Json& test : group["tests"]) {
      ++tally.instances;
      Json whole = test["data"];
      write_whole_numbers(whole);
      std::vector<std::string> texts{whole.dump(), whole.dump(2), whole.dump(-1, ' ', true)};
      // With an exponent, numbers are known where nothing limits them; JavaScript writes one from 1e21 on.
      if (const std::string fractions = test["data"].dump(); fractions.find("e+") == std::string::npos) texts.push_back(fractions);
      for (const std::string& text : texts)
        EXPECT_EQ(fits(automaton, text), test["valid"].get<bool>()) << name << ", " << test["description"] << "\n"
                                                                    << group["schema"].dump() << "\n"
                                                                    << text;
    }
  }
  return tally;
}

/// Runs the files of a folder and prints what was accepted of each.
Tally run_folder(const filesystem::path& folder, const std::function<bool(const std::string&)>& takes) {
  std::map<std::string, Tally> by_file;
  for (const auto& entry : filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".json" && takes(entry.path().stem().string()))
      by_file[entry.path().stem().string()] = run_file(entry.path());
  }
  Tally all;
  for (const auto& [name, tally] : by_file) {
    fmt::print("{:<24} {:>3} accepted {:>3} refused {:>4} instances\n", name, tally.accepted, tally.refused, tally.instances);
    all.accepted += tally.accepted;
    all.refused += tally.refused;
    all.instances += tally.instances;
  }
  fmt::print("{:<24} {:>3} accepted {:>3} refused {:>4} instances\n", "all", all.accepted, all.refused, all.instances);
  return all;
}

TEST(SchemaSuite, AcceptedSchemasMeanWhatTheySay) {
  if (!filesystem::exists(suite())) GTEST_SKIP() << "no JSON Schema Test Suite in " << suite() << " (tools/test fetches it)";
  // Its instances are to be valid whatever the format says: 2020-12 leaves formats to annotations, and here they are enforced.
  const Tally all = run_folder(suite(), [](const std::string& name) { return name != "format"; });
  EXPECT_GE(all.accepted, 175);
  EXPECT_GE(all.instances, 600);
}

TEST(SchemaSuite, FormatsMeanWhatTheySay) {
  if (!filesystem::exists(suite())) GTEST_SKIP() << "no JSON Schema Test Suite in " << suite() << " (tools/test fetches it)";
  const std::set<std::string> enforced{"date", "date-time", "email", "ipv4", "ipv6", "time", "uuid"};
  const Tally all =
      run_folder(filesystem::path(suite()) / "optional" / "format", [&](const std::string& name) { return enforced.contains(name); });
  EXPECT_EQ(all.accepted, 7);
  EXPECT_GE(all.instances, 150);
}

}  // namespace
}  // namespace skipstone::grammar
