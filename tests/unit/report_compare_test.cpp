// Records side by side: tables, bars and pages, of sound and of hostile texts.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "json/json.h"
#include "made_up_record.h"
#include "report/comparison.h"
#include "report/measure.h"
#include "results/charts.h"

namespace cli::report::test {
namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string notes_of(const Comparison& comparison) {
  std::string all;
  for (const std::string& note : comparison.notes) all += note + "\n";
  return all;
}

using Cells = std::vector<std::string>;

TEST(ReportCompare, RatiosAreToTheFirstDevice) {
  const Comparison comparison = compare({{"a.json", made_up_record("A", 20)}, {"b.json", made_up_record("B", 50)}});
  ASSERT_EQ(comparison.tables.size(), 5u);
  const Table& checks = comparison.tables[1];
  ASSERT_EQ(checks.rows.size(), 3u);
  EXPECT_EQ(checks.rows[1][4], "text of 1");
  EXPECT_EQ(checks.rows[2][4], "text of 1");
  EXPECT_EQ(comparison.tables[2].rows[1], (Cells{"1", "A", "200.0", "4 %", "1.00", "20.0", "10 %", "1.00"}));
  EXPECT_EQ(comparison.tables[2].rows[2], (Cells{"2", "B", "500.0", "4 %", "2.50", "50.0", "10 %", "2.50"}));
  EXPECT_EQ(comparison.tables[3].rows[1], (Cells{"1", "A", "50.0", "2 %", "-", "-", "2.50", "-", "-"}));
  EXPECT_EQ(comparison.tables[4].rows[1], (Cells{"1", "A", "0.90", "3 %", "1.25", "8 %", "1.50", "7 %"}));
}

TEST(ReportCompare, OtherTextsAreSaid) {
  Record other = made_up_record("B", 50);
  other.devices[0].exactness->plain = other.devices[0].exactness->drafts = "fedcba9876543210";
  Record broken = made_up_record("C", 50);
  broken.devices[0].exactness->drafts = "fedcba9876543210";
  broken.devices[0].exactness->equal = false;
  const Comparison comparison = compare({{"a.json", made_up_record("A")}, {"b.json", other}, {"c.json", broken}});
  const Table& checks = comparison.tables[1];
  EXPECT_EQ(checks.rows[2][4], "not that of 1");
  EXPECT_EQ(checks.rows[2][3], "same text");
  EXPECT_EQ(checks.rows[3][3], "OTHER TEXT");
  EXPECT_EQ(
      comparison.conclusions.back(),
      "The self-test passed; drafts CHANGE the text of 3 C, a defect to be reported; the text of 2 B is not the first device's, as sums "
      "in another order may cause.");
}

/// A record whose decoding has these runs, and whose drafts accepted at 0.8 have those.
Record with_runs(const std::string& name, double decoding, RunRange decoding_runs, double speedup = 1.25,
                 RunRange speedup_runs = {1.2, 1.3}) {
  Record record = made_up_record(name, decoding);
  Shape& shape = record.devices[0].shapes[0];
  shape.decode->runs = decoding_runs;
  shape.speculation->speedups[1].speedup = speedup;
  shape.speculation->speedups[1].runs = speedup_runs;
  return record;
}

TEST(ReportConclusion, NamesTheFastestDeviceAndItsRatio) {
  const auto said = compare({{"a", with_runs("A", 20, {19, 21})}, {"b", with_runs("B", 50, {48, 52}, 0.9, {0.8, 0.95})}}).conclusions;
  ASSERT_EQ(said.size(), 3u);
  EXPECT_EQ(said[0],
            "2 B decodes smollm2-135m:q4_0 fastest, 2.50 times as fast as 1 A (50.0 and 20.0 tokens per second; 2.29 to 2.74 times by the "
            "spread of the runs); device 2 reads prompts 2.50 times as fast as device 1.");
  EXPECT_EQ(
      said[1],
      "Drafts that are accepted with probability 0.8 pay on 1 of 2 devices; times plain decoding: 1.25 on device 1; 0.90 on device 2.");
  EXPECT_EQ(said[2], "The self-test passed; drafts change no text; 2 devices write the same text.");
}

TEST(ReportConclusion, ADifferenceWithinTheSpreadIsNone) {
  const auto said = compare({{"a", with_runs("A", 20, {19, 22})}, {"b", with_runs("B", 23, {22, 24}, 1.01, {0.97, 1.04})}}).conclusions;
  EXPECT_TRUE(contains(said[0], "2 B and 1 A decode smollm2-135m:q4_0 equally fast within the spread of their runs")) << said[0];
  EXPECT_FALSE(contains(said[0], "fastest")) << said[0];
  EXPECT_TRUE(contains(said[1], "1.01 on device 2, no difference beyond the spread")) << said[1];
  EXPECT_TRUE(contains(said[1], "pay on 1 of 2")) << said[1];
}

TEST(ReportConclusion, WithoutRangesTheSpreadIsNotKnown) {
  const auto said = compare({{"a", with_runs("A", 20, {})}, {"b", with_runs("B", 50, {60, 70})}}).conclusions;
  EXPECT_TRUE(contains(said[0], "the spread of the runs is not known")) << "a range without the median in it is none: " << said[0];
  const Comparison alone = compare({{"a", with_runs("A", 20, {})}});
  EXPECT_TRUE(contains(alone.conclusions[0], "1 A decodes 20.0 tokens of smollm2-135m:q4_0 per second, and")) << alone.conclusions[0];
  EXPECT_EQ(alone.tables[2].rows[1][6], "-");
}

TEST(ReportConclusion, ManyDevicesAreSummedUp) {
  std::vector<Source> sources;
  for (int i = 1; i <= 6; ++i)
    sources.push_back({std::to_string(i), with_runs(std::string(1, static_cast<char>('A' + i)), 10.0 * i, {}, 0.5 + 0.2 * i, {})});
  const auto said = compare(sources).conclusions;
  EXPECT_TRUE(contains(said[0], "6 G decodes")) << said[0];
  EXPECT_TRUE(contains(said[0], "the slowest, 1 B, has 0.17 of that speed")) << said[0];
  EXPECT_TRUE(contains(said[1], "pay on 4 of 6 devices; times plain decoding: 1.70 on device 6 at most; 0.70 on device 1 at least."))
      << said[1];
}

TEST(ReportConclusion, SpeedsOfAQuickReportAreNotJudged) {
  Record quick = with_runs("B", 50, {20, 60});
  EXPECT_EQ(compare({{"b", quick}}).warnings.size(), 1u);
  quick.quick = true;
  const Comparison comparison = compare({{"a", made_up_record("A")}, {"b", quick}});
  ASSERT_EQ(comparison.conclusions.size(), 2u);
  EXPECT_TRUE(contains(comparison.conclusions[0], "only show that it runs"));
  EXPECT_TRUE(comparison.warnings.empty());
}

TEST(ReportConclusion, FailedSelfTestsAndMissingOnesAreSaid) {
  Record failed = made_up_record("B"), untested = made_up_record("C");
  failed.devices[0].doctor->passed = false;
  untested.devices[0].doctor.reset();
  untested.devices[0].exactness.reset();
  EXPECT_TRUE(contains(compare({{"a", made_up_record("A")}, {"b", failed}}).conclusions.back(), "The self-test FAILED on 2 B;"));
  EXPECT_EQ(compare({{"c", untested}}).conclusions.back(), "The self-test did not run on 1 C; no text was measured.");
}

TEST(ReportWarnings, NoisyDevicesAreNamedWithTheNumber) {
  const Comparison comparison = compare({{"a", with_runs("A", 20, {18, 22})}, {"b", with_runs("B", 50, {44, 56}, 1, {0.8, 1.2})}});
  ASSERT_EQ(comparison.warnings.size(), 1u) << "20 % are not too noisy yet";
  EXPECT_EQ(
      comparison.warnings[0],
      "2 B is too noisy to compare with smollm2-135m:q4_0: its runs lie further apart than 20 % of their median (decoding 24 %, drafts "
      "at 0.8 40 %); measure it again on an idle machine.");
  EXPECT_TRUE(contains(comparison_text(comparison, 1000), "\nWarning: 2 B is too noisy"));
  EXPECT_TRUE(contains(html_page(comparison), "class=\"warning\""));
}

/// The longest line in characters.
std::size_t width_of(const std::string& text) {
  std::size_t longest = 0, column = 0;
  for (const char c : text) {
    column = c == '\n' ? 0 : column + ((c & 0xC0) != 0x80 ? 1 : 0);
    longest = std::max(longest, column);
  }
  return longest;
}

TEST(ReportText, IsNoWiderThanTheTerminalAndLosesNoNumber) {
  Record a = made_up_record("A device with a name of many words", 20), b = made_up_record("B", 50);
  b.devices[0].driver_info = std::string(30, 'x') + " \xc3\xa4\xc3\xb6\xc3\xbc";
  const Comparison comparison = compare({{"a", a}, {"b", b}});
  for (const std::size_t width : {40u, 60u, 80u, 100u, 200u}) {
    const std::string text = comparison_text(comparison, width);
    EXPECT_LE(width_of(text), width);
    for (const Table& table : comparison.tables) {
      for (const Cells& row : table.rows) {
        for (std::size_t i = table.left; i < row.size(); ++i) EXPECT_TRUE(contains(text, row[i])) << width << ": " << row[i];
      }
    }
  }
}

TEST(ReportJson, HasTheNumbersOfAllDevices) {
  const Json json = comparison_json({{"a", with_runs("A", 20, {19, 21})}, {"b", with_runs("B", 50, {})}});
  EXPECT_EQ(json["conclusions"].size(), 3u);
  ASSERT_EQ(json["devices"].size(), 2u);
  EXPECT_EQ(json["devices"][1]["name"], "B");
  EXPECT_EQ(json["devices"][1]["text_compared_with"], 1);
  EXPECT_EQ(json["devices"][1]["text_same"], true);
  const Json& devices = json["models"][0]["devices"];
  EXPECT_EQ(devices[0]["decoding"]["lowest"], 19.0);
  EXPECT_EQ(devices[0]["decoding"]["spread"], 0.1);
  EXPECT_EQ(devices[1]["decoding"]["ratio"], 2.5);
  EXPECT_TRUE(devices[1]["decoding"]["spread"].is_null());
  EXPECT_EQ(devices[1]["passes"][1]["to_one_row"], 2.5);
  EXPECT_EQ(devices[1]["drafts"][1]["speedup"], 1.25);
}

TEST(ReportCompare, TheSameRecordCountsOnce) {
  const Comparison comparison = compare({{"a.json", made_up_record()}, {"copy.json", made_up_record()}});
  EXPECT_EQ(comparison.tables[0].rows.size(), 2u);
  EXPECT_TRUE(contains(notes_of(comparison), "copy.json holds the same record as a.json"));
}

TEST(ReportCompare, OtherBuildsAreNoted) {
  Record newer = made_up_record("B");
  newer.version = "0.3.0";
  EXPECT_TRUE(contains(notes_of(compare({{"a", made_up_record()}, {"b", newer}})), "2 builds of skipstone"));
  EXPECT_FALSE(contains(notes_of(compare({{"a", made_up_record()}, {"b", made_up_record("B")}})), "builds"));
}

TEST(ReportCompare, FailedDevicesHaveALineAndTheirSentence) {
  Record failed = made_up_record("B");
  Device& device = failed.devices[0];
  device.error = "the device is lost";
  device.doctor.reset();
  device.exactness.reset();
  device.copy_bytes_per_second.reset();
  device.shapes.clear();
  const Comparison comparison = compare({{"b", failed}, {"a", made_up_record("A")}});
  EXPECT_EQ(comparison.tables[1].rows[1][2], "-");
  EXPECT_EQ(comparison.tables[1].rows[2][6], "1.00") << "the first one that has the number";
  EXPECT_TRUE(contains(notes_of(comparison), "1 B: not measured: the device is lost"));
  const Comparison alone = compare({{"b", failed}});
  EXPECT_TRUE(alone.panels.empty());
  EXPECT_TRUE(contains(bars_document(alone.panels), "</svg>"));
  EXPECT_TRUE(contains(html_page(alone), "</html>"));
}

TEST(ReportCompare, MergedRecordsHaveTheirOwnSystems) {
  Record merged = made_up_record("A");
  merged.systems.push_back({"Linux", "Other processor", 4, 1});
  merged.devices.push_back(made_up_device("B", 10));
  merged.devices[1].host = 1;
  const Table devices = compare({{"a", merged}}).tables[0];
  EXPECT_EQ(devices.rows[1][3], "AMD EPYC 7B13");
  EXPECT_EQ(devices.rows[2][3], "Other processor");
}

constexpr const char* hostile = "<script>alert(1)</script>\x1b[2J|\n&\"'\xe2\x80\xae\x01 ]]>";

Record hostile_record() {
  Record record = made_up_record(hostile);
  record.version = record.commit = record.date = hostile;
  record.systems[0] = {hostile, hostile, 1, 1};
  Device& device = record.devices[0];
  device.driver = device.driver_info = device.kind = device.tier = hostile;
  device.error = hostile;
  device.quirks = {std::string(1000, '<')};
  device.shapes[0].model = hostile;
  device.shapes[0].decode->tokens_per_second = 1e18;
  device.shapes[0].passes[0].milliseconds = 0;
  device.left_out = {{hostile, hostile}};
  device.exactness->model = hostile;
  return record;
}

void expect_harmless(const std::string& text) {
  for (const char c : text) EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 || c == '\n') << static_cast<int>(c);
  EXPECT_FALSE(contains(text, "\xe2\x80\xae"));
}

TEST(ReportCompare, HostileTextsAreHarmlessInAll) {
  Record newer = hostile_record();
  newer.version = "<b>";
  const Comparison comparison = compare({{std::string("<i>") + hostile, hostile_record()}, {"b", hostile_record()}, {"c", newer}});
  const std::string text = comparison_text(comparison, 100), svg = bars_document(comparison.panels), page = html_page(comparison);
  const std::string json = comparison_json({{"a", hostile_record()}}).dump();
  for (const std::string* each : {&text, &svg, &page, &json}) expect_harmless(*each);
  for (const std::string* each : {&svg, &page}) {
    EXPECT_FALSE(contains(*each, "<script"));
    EXPECT_FALSE(contains(*each, "<i>"));
    EXPECT_FALSE(contains(*each, "<b>"));
    EXPECT_TRUE(contains(*each, "&lt;script&gt;"));
    EXPECT_FALSE(contains(*each, "nan"));
  }
  for (const std::string& note : comparison.notes) EXPECT_LT(note.size(), 700u);
}

TEST(ReportBars, EveryElementIsClosedAndEveryValueIsThere) {
  const Comparison comparison = compare({{"a", made_up_record("A", 20)}, {"b", made_up_record("B", 50)}});
  const std::string svg = bars_document(comparison.panels);
  EXPECT_TRUE(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  for (const std::string part : {">200.0<", ">20.0<", ">50.0<", ">1.25<", "not measured", "prefers-color-scheme: dark", "role=\"img\"",
                                 "class=\"whisker\"", ">tokens per second<", "1 A: 20.0."})
    EXPECT_TRUE(contains(svg, part)) << part;
}

TEST(ReportPage, NeedsNothingBesidesAndHasTablesForAll) {
  const std::string page = html_page(compare({{"a", made_up_record("A", 20)}, {"b", made_up_record("B", 50)}}));
  for (const std::string part :
       {"<!DOCTYPE html>", "lang=\"en\"", "<caption>", "scope=\"col\"", "scope=\"row\"", "color-scheme: light dark", "default-src 'none'",
        "aria-labelledby=\"bars1-title bars1-desc\"", "id=\"bars2-title\"", "<figcaption>", "class=\"conclusion\""})
    EXPECT_TRUE(contains(page, part)) << part;
  for (const std::string part : {"src=", "href=", "url(", "@import", "<script", "<link"}) EXPECT_FALSE(contains(page, part)) << part;
}

/// Runs take the seconds they say, by a clock of the test's own.
class TakeTurns : public testing::Test {
 protected:
  Runner runner(const std::string& what, double takes) {
    return {what, [this, takes] {
              now_ += takes;
              ++runs_;
              return takes;
            }};
  }
  Limits limits(double seconds) {
    return {3, seconds, [this] { return now_; }, true};
  }

  double now_ = 100;
  int runs_ = 0;
  std::vector<LeftOut> left_out_;
};

TEST_F(TakeTurns, TheFirstRunDoesNotCount) {
  const std::vector<Runner> runners = {runner("a", 1), runner("b", 2)};
  const auto seconds = take_turns(runners, limits(100), left_out_);
  EXPECT_EQ(seconds, (std::vector<std::vector<double>>{{1, 1, 1}, {2, 2, 2}}));
  EXPECT_EQ(runs_, 8);
  EXPECT_TRUE(left_out_.empty());
}

TEST_F(TakeTurns, WhatDoesNotFitIsNotBegun) {
  const std::vector<Runner> runners = {runner("a", 1), runner("b", 6), runner("c", 1)};
  const auto seconds = take_turns(runners, limits(10), left_out_);
  EXPECT_EQ(seconds[0].size(), 1u);
  EXPECT_TRUE(seconds[1].empty());
  EXPECT_FALSE(seconds[2].empty());
  ASSERT_EQ(left_out_.size(), 1u);
  EXPECT_EQ(left_out_[0].what, "b");
  EXPECT_EQ(left_out_[0].why, "there were only 10 s for this and what is like it; a run takes 6.0 s");
  EXPECT_LE(now_, 110);
}

TEST_F(TakeTurns, WhatIsKnownToBeTooLongIsNotTried) {
  std::vector<Runner> runners = {runner("a", 1), runner("b", 60)};
  runners[1].expected = 50;
  Limits short_limits = limits(10);
  short_limits.warm_up = false;
  const auto seconds = take_turns(runners, short_limits, left_out_);
  EXPECT_EQ(seconds[0].size(), 3u);
  EXPECT_EQ(runs_, 3);
  ASSERT_EQ(left_out_.size(), 1u);
  EXPECT_EQ(left_out_[0].why, "there were only 10 s for this and what is like it; a run takes 50.0 s");
}

TEST_F(TakeTurns, WithoutTimeAllIsLeftOut) {
  const std::vector<Runner> runners = {runner("a", 5), runner("b", 1)};
  const auto seconds = take_turns(runners, limits(0), left_out_);
  EXPECT_EQ(left_out_.size(), 2u);
  EXPECT_EQ(left_out_[1].why, "there were only 0 s for this and what is like it");
}

TEST(SizeThatFits, IsTheLargestOrTheSmallest) {
  constexpr std::array<std::uint32_t, 3> sizes = {128, 64, 32};
  EXPECT_EQ(size_that_fits(sizes, 0.01, 2), 128u);
  EXPECT_EQ(size_that_fits(sizes, 0.02, 2), 64u);
  EXPECT_EQ(size_that_fits(sizes, 10, 2), 32u);
}

}  // namespace
}  // namespace cli::report::test
