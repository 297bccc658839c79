#include <gtest/gtest.h>

#include <cmath>

#include "bench/preset.h"
#include "results/charts.h"
#include "terminal/exit_code.h"
#include "unit/bench_sweep.h"

namespace cli::bench {
namespace {

PresetModel model_of(std::uint32_t layers) {
  PresetModel model{layers, layers / 2, "attn:3;mlp:4", {}};
  for (std::uint32_t i = 0; i < layers; ++i) model.attention_cosine.push_back(0.9f + 0.01f * static_cast<float>(i % 7));
  return model;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(Preset, HasThePapersSettings) {
  const Preset table3 = make_preset("dv-table3", model_of(20));
  EXPECT_EQ(table3.points.size(), 9u);
  EXPECT_EQ(table3.points[1].drafter, "skip:attn:3;mlp:4,k=4,gamma=0,adaptive=0");
  EXPECT_EQ(table3.points[4].drafter, "skip:attn:3;mlp:4,k=12,gamma=0.2,adaptive=0");
  EXPECT_EQ(make_preset("asd-table5", model_of(20)).points.size(), 4u);
  EXPECT_EQ(make_preset("dv-fig5", model_of(20)).plot_of, PlotOf::thresholds);
}

TEST(Preset, Figure4SkipsMoreAndMoreButNeverTheEnds) {
  const Preset preset = make_preset("dv-fig4", model_of(20));
  ASSERT_GE(preset.points.size(), 6u);
  EXPECT_EQ(preset.points.front().x, 3);                             // two attention sublayers and an MLP
  EXPECT_EQ(preset.points.front().drafter, "skip:attn:6,13;mlp:6");  // the two of the largest cosine
  for (std::size_t i = 1; i < preset.points.size(); ++i) EXPECT_GT(preset.points[i].x, preset.points[i - 1].x);
  for (const PresetPoint& point : preset.points) {
    EXPECT_EQ(point.drafter.find("attn:0,"), std::string::npos);
    EXPECT_EQ(point.drafter.find(",19"), std::string::npos);
  }
}

TEST(Preset, ExitsLieWithinTheModel) {
  EXPECT_EQ(make_preset("layerskip-sweep", model_of(20)).points.size(), 4u * 7);
  for (const PresetPoint& point : make_preset("layerskip-sweep", model_of(3)).points) {
    EXPECT_GE(point.x, 1);
    EXPECT_LE(point.x, 2);
  }
}

TEST(Preset, OfNGrammysNeedNoLayersAndAreDraftersThatThereAre) {
  for (const char* name : {"ngrammys-fig2", "ngrammys-table1", "ngrammys-fig4"}) {
    EXPECT_FALSE(preset_needs_layers(name));
    const Preset preset = make_preset(name, {});
    EXPECT_GE(preset.points.size(), 2u);
    for (const PresetPoint& point : preset.points) {
      skipstone_session_params params = skipstone::session_params();
      params.draft = point.drafter.c_str();
      EXPECT_EQ(skipstone_session_check_params(&params), SKIPSTONE_OK) << point.drafter << ": " << skipstone_last_error();
    }
  }
  EXPECT_TRUE(preset_needs_layers("dv-fig4"));
  EXPECT_EQ(make_preset("ngrammys-table1", {}).points[0].drafter, "ngram:k=10,w=10,rows=block");
  EXPECT_FALSE(is_preset(call_preset)) << "it has no drafters";
}

TEST(Preset, TokensPerCallStrategiesAndTheBestPoint) {
  Sweep sweep = three_prompts({1, 1, 1}, {0.5, 0.5, 0.5});
  Preset preset{"p", "title", "k", false, PlotOf::tokens_per_round, {{sweep.drafters[1].specification, "line", 7}}, true};
  Plot plot = plot_of(preset, sweep);
  ASSERT_EQ(plot.series.size(), 1u);
  EXPECT_DOUBLE_EQ(plot.series[0].points[0].x, 7);
  EXPECT_DOUBLE_EQ(plot.series[0].points[0].y, 2);  // ten timed tokens in five rounds
  EXPECT_EQ(
      best_point(preset, sweep),
      "fastest: asd:c=0.9,k=2, 2.00 tokens per call, 2.00 times plain decoding; asd:c=0.9,k=2, 2.00 tokens per call, 2.00 times plain "
      "decoding");
  EXPECT_EQ(strategies_text(sweep), "");
  for (auto& run : sweep.runs) {
    if (run.drafter == 1) run.stats.strategies = {{"context", 4, {1, 0, 1}, {2}}, {"bigram", 6, {}, {}}};
  }
  sweep.runs.back().stats.strategies[0].won_by_length = {0, 3};
  const std::string text = strategies_text(sweep);
  EXPECT_NE(text.find("| context "), std::string::npos) << text;
  EXPECT_NE(text.find("6 of 15"), std::string::npos) << text;
  EXPECT_NE(text.find("3 0 3"), std::string::npos) << text;
  EXPECT_NE(text.find("4 3"), std::string::npos) << text;
  preset.plot_of = PlotOf::strategies;
  plot = plot_of(preset, sweep);
  ASSERT_EQ(plot.series.size(), 4u);
  EXPECT_EQ(plot.series[0].name, "context, length");
  EXPECT_EQ(plot.series[0].points.at(1).y, 3);
  EXPECT_EQ(plot.series[2].name, "context, rank");
  EXPECT_EQ(plot.series[2].points.at(2).x, 3);
}

TEST(Preset, CallsAreComparedWithOneRowAtTheSameContext) {
  const auto tests = call_tests();
  EXPECT_EQ(tests.size(), 3u * 26);
  EXPECT_EQ(tests[1].name(), "block1x2 @ d25");
  EXPECT_EQ(tests.back().name(), "block25x15 @ d500");
  EXPECT_EQ(tests.back().tokens(), 375u);
  EXPECT_LE(needed_context(tests), 600u);
  Speed speed;
  speed.results = {{{.rows = 1, .depth = 25}, {0.5}},
                   {{.rows = 1, .depth = 100}, {1.0}},
                   {{.rows = 1, .depth = 25, .chains = 5}, {1.0}},
                   {{.rows = 4, .depth = 25, .chains = 5}, {1.5}},
                   {{.rows = 4, .depth = 100, .chains = 5}, {1.5}},
                   {{.rows = 4, .depth = 100, .chains = 25}, {}}};
  const Plot plot = call_plot(speed);
  ASSERT_EQ(plot.series.size(), 2u);
  EXPECT_EQ(plot.series[0].name, "k = 5, context 25");
  EXPECT_DOUBLE_EQ(plot.series[0].points.at(1).x, 3);
  EXPECT_DOUBLE_EQ(plot.series[0].points.at(1).y, 3.0);
  EXPECT_DOUBLE_EQ(plot.series[1].points.at(0).y, 1.5);
}

TEST(Preset, RefusesWhatThereIsNot) {
  EXPECT_THROW(make_preset("dv-table9", model_of(20)), Failure);
  EXPECT_THROW(make_preset("layerskip-sweep", model_of(1)), Failure);
  EXPECT_THROW(make_preset("dv-fig4", model_of(3)), Failure);
  EXPECT_TRUE(is_preset("dv-fig4"));
  EXPECT_FALSE(is_preset("dv"));
}

TEST(Plot, DrawsEverySeriesAndEscapesText) {
  Plot plot;
  plot.title = "a < b & c";
  plot.reference = 1;
  plot.series = {{"one", {{1, 0.5}, {2, 1.5}, {3, NAN}}}, {"two", {{1, 1}}}};
  const std::string lines = svg(plot);
  EXPECT_NE(lines.find("a &lt; b &amp; c"), std::string::npos);
  EXPECT_EQ(count(lines, "<circle"), 3u);  // what is no number is not drawn
  EXPECT_EQ(count(lines, "class=\"mark\""), 1u);
  Plot many = plot;
  many.series.assign(9, plot.series[0]);
  EXPECT_EQ(count(svg(many), "class=\"c0 again\""), 1u) << "there are eight colours: the ninth line has the first one again";
  EXPECT_NE(lines.find("viewBox=\"0 0 760 "), std::string::npos);
  many.series[0].name = std::string(40, 'n');
  EXPECT_NE(svg(many).find("viewBox=\"0 0 892 "), std::string::npos) << "a long name makes the page wider";
  EXPECT_EQ(lines.find("nan"), std::string::npos);
  EXPECT_EQ(count(lines, "class=\"range\""), 0u);
  plot.series[1].points = {{1, 1, 0.0, 1.25}, {2, 1}};
  const std::string whiskers = svg(plot);
  EXPECT_EQ(count(whiskers, "class=\"range\""), 1u);  // one path for all of a series
  EXPECT_EQ(lines.find(">0<"), std::string::npos);
  EXPECT_NE(whiskers.find(">0<"), std::string::npos) << "the axis reaches to the end of the whisker";
  plot.bars = true;
  EXPECT_EQ(count(svg(plot), "<rect"), 1u + 2 * 2);  // the page; a bar and its legend each
  EXPECT_EQ(svg({}).find("nan"), std::string::npos);
}

TEST(Plot, TellsScreenReadersWhatItShows) {
  Plot plot;
  plot.title = "Speed";
  plot.x_title = "K";
  plot.y_title = "tokens per second";
  plot.series = {{"one", {{1, 0.5}, {2, 1500}}}};
  const std::string drawing = svg(plot);
  EXPECT_NE(drawing.find("role=\"img\" aria-labelledby=\"picture-title picture-desc\""), std::string::npos);
  EXPECT_NE(drawing.find("<title id=\"picture-title\">Speed</title>"), std::string::npos);
  EXPECT_NE(drawing.find("<desc id=\"picture-desc\">tokens per second by K. one: 1: 0.50, 2: 1500.</desc>"), std::string::npos) << drawing;
  EXPECT_NE(drawing.find("@media (prefers-color-scheme: dark)"), std::string::npos);
}

TEST(Plot, AutoIsStrongestAndLast) {
  Plot plot;
  plot.series = {{"auto", {{1, 1}, {2, 2}}}, {"exit", {{1, 1}}}, {"autumn", {{1, 1}}}};
  const std::string drawing = svg(plot);
  EXPECT_EQ(count(drawing, "class=\"c0 auto\""), 1u);
  EXPECT_EQ(count(drawing, "class=\"c1 quiet\""), 1u);
  EXPECT_EQ(count(drawing, "class=\"c2 quiet\""), 1u) << "a name that only begins like it is not auto";
  EXPECT_GT(drawing.find("class=\"c0 auto\""), drawing.find("class=\"c2 quiet\"")) << "it lies over the others";
  plot.series.erase(plot.series.begin());
  EXPECT_EQ(count(svg(plot), " quiet\""), 0u);
}

}  // namespace
}  // namespace cli::bench
