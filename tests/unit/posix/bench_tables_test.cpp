// bench's tables, read back by programs in Python.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "bench/speed.h"
#include "fixtures/temporary_directory.h"
#include "json/json.h"
#include "unit/made_up_speed.h"

namespace cli::bench {
namespace {

/// What a Python program makes of `text`, a file that it gets as its argument; "" where there is no Python.
std::string python(const std::string& program, const std::string& text) {
  const skipstone::fixtures::TemporaryDirectory folder;
  std::ofstream(folder.file("result")) << text;
  std::ofstream(folder.file("program.py")) << program;
  FILE* pipe = popen(("python3 " + folder.file("program.py") + " " + folder.file("result")).c_str(), "r");
  std::string out;
  for (int c = 0; pipe != nullptr && (c = std::fgetc(pipe)) != EOF;) out += static_cast<char>(c);
  return pipe != nullptr && pclose(pipe) == 0 ? out : "";
}

bool has_python() { return python("print('here')", "") == "here\n"; }

TEST(BenchTables, Csv) {
  if (!has_python()) GTEST_SKIP() << "python3 reads the table back";
  const std::string out = python(R"(import csv, json, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="", encoding="utf-8")))
print(json.dumps([[r["test"], r["device"], r["median_ns"], r["v"], r["samples_ns"], len(r)] for r in rows])))",
                                 speed_report({made_up()}, Format::csv));
  const auto rows = nlohmann::json::parse(out);
  ASSERT_EQ(rows.size(), 5u);
  const auto columns = speed_records({made_up()}).front().size();
  EXPECT_EQ(rows[3],
            (nlohmann::json{"rows4 @ d5", "it's a \"device\", with a comma", "6000000", "2.0", "6000000 5000000 9000000", columns}));
  EXPECT_EQ(rows[0][3], "");
}

TEST(BenchTables, Sql) {
  if (!has_python()) GTEST_SKIP() << "python3 reads the table back";
  const std::string text = speed_report({made_up()}, Format::sql);
  const std::string out = python(R"(import json, sqlite3, sys
base = sqlite3.connect(":memory:")
text = open(sys.argv[1], encoding="utf-8").read()
base.executescript(text)
base.executescript(text)
print(json.dumps(base.execute("SELECT test, device, rows, ms, v, samples_ns, model_n_params FROM skipstone_tests").fetchall())))",
                                 text);
  const auto rows = nlohmann::json::parse(out);
  ASSERT_EQ(rows.size(), 10u);  // a second result goes to the same table
  EXPECT_EQ(rows[3][0], "rows4 @ d5");
  EXPECT_EQ(rows[3][1], "it's a \"device\", with a comma");
  EXPECT_EQ(rows[3][2], 4);
  EXPECT_DOUBLE_EQ(rows[3][3].get<double>(), 6.0);
  EXPECT_DOUBLE_EQ(rows[3][4].get<double>(), 2.0);
  EXPECT_EQ(rows[3][5], "6000000 5000000 9000000");
  EXPECT_EQ(rows[0][6], 7'000'000'000);
  EXPECT_TRUE(rows[0][4].is_null());
}

}  // namespace
}  // namespace cli::bench
