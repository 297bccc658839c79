// Records side by side: tables, bars and pages, of sound and of hostile texts.
#include <gtest/gtest.h>

#include <array>
#include <string>

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

TEST(ReportCompare, RatiosAreToTheFirstDevice) {
  const Comparison comparison = compare({{"a.json", made_up_record("A", 20)}, {"b.json", made_up_record("B", 50)}});
  ASSERT_EQ(comparison.tables.size(), 2u);
  const Table& devices = comparison.tables[0];
  ASSERT_EQ(devices.rows.size(), 3u);
  EXPECT_EQ(devices.rows[1][6], "text of 1");
  EXPECT_EQ(devices.rows[2][6], "text of 1");
  const Table& shapes = comparison.tables[1];
  EXPECT_EQ(shapes.rows[1], (std::vector<std::string>{"1", "A", "200.0", "1.00", "20.0", "1.00", "50.0", "-", "-", "2.50", "-", "-", "0.90",
                                                      "1.25", "1.50"}));
  EXPECT_EQ(shapes.rows[2][3], "2.50");
  EXPECT_EQ(shapes.rows[2][4], "50.0");
  EXPECT_EQ(shapes.rows[2][5], "2.50");
}

TEST(ReportCompare, OtherTextsAreSaid) {
  Record other = made_up_record("B", 50);
  other.devices[0].exactness->plain = other.devices[0].exactness->drafts = "fedcba9876543210";
  Record broken = made_up_record("C", 50);
  broken.devices[0].exactness->drafts = "fedcba9876543210";
  broken.devices[0].exactness->equal = false;
  const Table devices = compare({{"a.json", made_up_record("A")}, {"b.json", other}, {"c.json", broken}}).tables[0];
  EXPECT_EQ(devices.rows[2][6], "not that of 1");
  EXPECT_EQ(devices.rows[2][5], "same text");
  EXPECT_EQ(devices.rows[3][5], "OTHER TEXT");
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
  EXPECT_EQ(comparison.tables[0].rows[1][4], "-");
  EXPECT_EQ(comparison.tables[0].rows[2][8], "1.00") << "the first one that has the number";
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
  const std::string text = comparison_text(comparison), svg = bars_document(comparison.panels), page = html_page(comparison);
  for (const std::string* each : {&text, &svg, &page}) expect_harmless(*each);
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
  for (const std::string part : {">200.0<", ">20.0<", ">50.0<", ">1.25<", "not measured", "prefers-color-scheme: dark", "role=\"img\""})
    EXPECT_TRUE(contains(svg, part)) << part;
}

TEST(ReportPage, NeedsNothingBesidesAndHasTablesForAll) {
  const std::string page = html_page(compare({{"a", made_up_record("A", 20)}, {"b", made_up_record("B", 50)}}));
  for (const std::string part : {"<!DOCTYPE html>", "lang=\"en\"", "<caption>", "scope=\"col\"", "scope=\"row\"",
                                 "color-scheme: light dark", "default-src 'none'", "aria-label=", "<figcaption>"})
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
