// skipstone report on a device, and skipstone compare with what it wrote.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "fixtures/temporary_directory.h"
#include "program.h"

namespace skipstone::e2e {
namespace {

using fixtures::bytes_of;
using nlohmann::json;

/// One quick report that all tests look at.
class ReportTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new fixtures::TemporaryDirectory;
    Command command{{"report", "--quick", "-o", record()}};
    command.environment = {{"USER", "somebody-secret"}, {"HOSTNAME", "somewhere-secret"}};
    result_ = new Result(run(command));
  }
  static void TearDownTestSuite() {
    delete result_;
    delete folder_;
  }
  static std::string record() { return folder_->file("secret-folder.json"); }
  static const Result& result() { return *result_; }
  static std::string file(const std::string& name) { return folder_->file(name); }

  static void write(const std::string& name, const std::string& content) {
    std::ofstream(fixtures::path_of(file(name)), std::ios::binary) << content;
  }

  static void refused(const std::vector<std::string>& arguments, int code, const std::string& part) {
    const Result refusal = run(arguments);
    EXPECT_EQ(refusal.code, code) << refusal.error;
    EXPECT_EQ(refusal.out, "");
    EXPECT_EQ(refusal.error.rfind("error: ", 0), 0u) << refusal.error;
    EXPECT_TRUE(contains(refusal.error, part)) << refusal.error;
  }

 private:
  static inline fixtures::TemporaryDirectory* folder_ = nullptr;
  static inline Result* result_ = nullptr;
};

TEST_F(ReportTest, MeasuresTheDevice) {
  ASSERT_EQ(result().code, 0) << result().error;
  EXPECT_TRUE(contains(result().out, "stories-260k")) << result().out;
  const json document = json::parse(bytes_of(record()));
  EXPECT_EQ(document["quick"], true);
  ASSERT_FALSE(document["devices"].empty());
  const json& device = document["devices"][0];
  EXPECT_EQ(device["error"], "");
  EXPECT_GT(device["copy_bytes_per_second"].get<double>(), 0.0);
  const json& exactness = device["exactness"];
  EXPECT_EQ(exactness["model"], "fixed-64:q8_0");
  EXPECT_EQ(exactness["equal"], true) << "drafts change no text";
  EXPECT_EQ(exactness["plain"], exactness["drafts"]);
  EXPECT_GT(exactness["accepted"].get<int>(), 0);
  EXPECT_LT(exactness["accepted"].get<int>(), exactness["drafted"].get<int>());
  ASSERT_EQ(device["shapes"].size(), 1u);
  const json& shape = device["shapes"][0];
  EXPECT_GT(shape["prompt"]["tokens_per_second"].get<double>(), 0.0);
  EXPECT_GT(shape["decode"]["tokens_per_second"].get<double>(), 0.0);
  const json &decode = shape["decode"], &pass = shape["passes"][0], &speedup = shape["speculation"]["speedups"][0];
  for (const auto& [measured, median] : {std::pair{decode, "tokens_per_second"}, {pass, "milliseconds"}, {speedup, "speedup"}}) {
    EXPECT_LE(measured["lowest"].get<double>(), measured[median].get<double>()) << measured;
    EXPECT_GE(measured["highest"].get<double>(), measured[median].get<double>()) << measured;
  }
  EXPECT_LT(pass["lowest"].get<double>(), pass["highest"].get<double>()) << "two runs of the same time to the last digit";
  ASSERT_EQ(shape["passes"].size(), 6u);
  EXPECT_EQ(shape["passes"][5]["rows"], 32);
  ASSERT_EQ(shape["speculation"]["speedups"].size(), 3u);
  EXPECT_GT(shape["speculation"]["speedups"][2]["speedup"].get<double>(), 0.0);
}

TEST_F(ReportTest, NamesNobodyAndNoFile) {
  const std::string text = bytes_of(record());
  EXPECT_FALSE(contains(text, "secret")) << text;
  const json document = json::parse(text);
  EXPECT_EQ(document["systems"].size(), 1u);
  EXPECT_FALSE(document["systems"][0]["os"].get<std::string>().empty());
}

TEST_F(ReportTest, IsWhatTheSchemaSays) {
  write("validate.py",
        "import json, sys\n"
        "try:\n"
        "    from jsonschema import Draft202012Validator as Validator\n"
        "except ImportError:\n"
        "    sys.exit(77)\n"
        "schema, record = (json.load(open(name, encoding='utf-8')) for name in sys.argv[1:])\n"
        "Validator.check_schema(schema)\n"
        "errors = [f'{list(e.absolute_path)}: {e.message}' for e in Validator(schema).iter_errors(record)]\n"
        "sys.exit('\\n'.join(errors) or 0)\n");
  Result validated;
  for (const char* python : {"python3", "/usr/bin/python3"}) {  // another Python may come first, without Debian's packages
    Command command{{python, file("validate.py"), SKIPSTONE_DOCS "/report.schema.json", record()}};
    command.program = "/usr/bin/env";
    validated = run(command);
    if (validated.code != 77 && validated.code != 127) break;
  }
  if (validated.code == 77 || validated.code == 127) GTEST_SKIP() << "no jsonschema for Python here (Debian: python3-jsonschema)";
  EXPECT_EQ(validated.code, 0) << validated.error;
}

TEST_F(ReportTest, IsComparedWithItselfAndOthers) {
  json other = json::parse(bytes_of(record()));
  other["devices"][0]["name"] = "<script>other</script>\x1b[2J";
  other["version"] = "9.9.9";
  write("other.json", other.dump());
  write("copy.json", bytes_of(record()));
  const Result compared =
      run({"compare", record(), file("copy.json"), file("other.json"), "--svg", file("bars.svg"), "--html", file("page.html")});
  ASSERT_EQ(compared.code, 0) << compared.error;
  EXPECT_TRUE(contains(compared.out, "copy.json holds the same record")) << compared.out;
  EXPECT_TRUE(contains(compared.out, "2 builds")) << compared.out;
  EXPECT_TRUE(contains(compared.out, "text of 1")) << compared.out;
  EXPECT_FALSE(contains(compared.out, "\x1b"));
  EXPECT_TRUE(contains(bytes_of(file("bars.svg")), "&lt;script&gt;"));
  EXPECT_FALSE(contains(bytes_of(file("bars.svg")), "<script"));
  EXPECT_TRUE(contains(bytes_of(file("page.html")), "</html>"));
  EXPECT_FALSE(contains(bytes_of(file("page.html")), "<script"));
}

TEST_F(ReportTest, ConcludesAndFitsAPipe) {
  const Result compared = run({"compare", SKIPSTONE_RECORDS "/laptop.json", SKIPSTONE_RECORDS "/desktop.json"});
  ASSERT_EQ(compared.code, 0) << compared.error;
  EXPECT_TRUE(compared.out.starts_with("2 Example Radiance RX 7700 XT (desktop) decodes smollm2-135m:q4_0 fastest, 2.46 times as fast"))
      << compared.out;
  EXPECT_TRUE(contains(compared.out, "\nWarning: 1 Example Graphics 780 (laptop) is too noisy to compare")) << compared.out;
  std::istringstream lines(compared.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

TEST_F(ReportTest, IsComparedAsJson) {
  const Result compared = run({"compare", "--json", SKIPSTONE_RECORDS "/laptop.json", SKIPSTONE_RECORDS "/desktop.json"});
  ASSERT_EQ(compared.code, 0) << compared.error;
  const json document = json::parse(compared.out);
  EXPECT_EQ(document["conclusions"].size(), 3u);
  EXPECT_EQ(document["warnings"].size(), 1u);
  EXPECT_EQ(document["models"][1]["devices"][1]["decoding"]["tokens_per_second"], 452.0);
}

TEST_F(ReportTest, BadInputIsOneSentence) {
  json newer = json::parse(bytes_of(record()));
  newer["schema_version"] = 3;
  write("newer.json", newer.dump());
  write("none.json", "no JSON");
  write("large.json", std::string((std::size_t{4} << 20) + 1, ' '));
  refused({"compare"}, 2, "RECORDS");
  refused({"compare", file("missing.json")}, 2, "missing.json");
  refused({"compare", record(), file("newer.json")}, 2, "schema_version");
  refused({"compare", file("none.json")}, 2, "not valid JSON");
  refused({"compare", file("large.json")}, 2, "large.json");
  refused({"compare", record(), "--svg", file("no/such/folder.svg")}, 1, "folder.svg");
  refused({"report", "--device", "no such device"}, 4, "no such device");
  refused({"report", "--seconds", "0"}, 2, "--seconds");
  refused({"report", "-o", file("no/such/folder.json")}, 1, "folder.json");
}

}  // namespace
}  // namespace skipstone::e2e
