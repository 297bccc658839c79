// What commands say and take before a text begins: the device, its memory, sampling that no option gives.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"
#include "program.h"
#include "unit/edited_model.h"

namespace skipstone::e2e {
namespace {

using nlohmann::json;
using Arguments = std::vector<std::string>;

class CliStart : public testing::Test {
 protected:
  CliStart() {
    fixtures::TinyConfig config;
    config.context = 2048;
    fixtures::write_tiny_model(config, model());
  }
  std::string model() const { return folder_.file("tiny.gguf"); }
  Result generate(const Arguments& more) const {
    Arguments all = {"run", "-m", model(), "-p", "Hello", "-n", "16", "--draft", "none"};
    all.insert(all.end(), more.begin(), more.end());
    return run(all);
  }

  fixtures::TemporaryDirectory folder_;
};

// One line before the text; an error is alone.
TEST_F(CliStart, NamesTheDevice) {
  const json device = json::parse(run({"devices", "--json"}).out)["devices"][0];
  const std::string name = device["name"], kind = device["kind"], driver = device["driver"];
  const std::string line = "Device: " + name + ", " + kind + ", driver " + driver;
  const Result plain = generate({});
  ASSERT_EQ(plain.code, 0) << plain.error;
  EXPECT_EQ(plain.error.find(line), 0u) << plain.error;
  EXPECT_EQ(std::ranges::count(plain.error, '\n'), 1) << plain.error;
  EXPECT_TRUE(contains(generate({"--stats"}).error, "device              " + name));
  for (const Arguments& other : {Arguments{"run", "--chat", "-m", model(), "-p", "Hello", "-n", "2"}, {"chat", "-m", model(), "-n", "2"}}) {
    const Result result = run(Command{other, "Hello\n"});
    EXPECT_EQ(result.error.find(line), 0u) << result.error;
  }
  EXPECT_FALSE(contains(generate({"--draft", "copy:no.txt"}).error, "Device"));
  EXPECT_FALSE(contains(generate({"--ctx", "2"}).error, "Device"));
}

TEST_F(CliStart, AContextBeyondTheTrainedOneIsWarnedOf) {
  for (const char* context : {"2048", "0"}) EXPECT_FALSE(contains(generate({"--ctx", context}).error, "warning")) << context;
  const Result result = generate({"--ctx", "2049"});
  EXPECT_EQ(result.code, 0) << result.error;
  EXPECT_TRUE(contains(result.error, "warning: the context is 2049 tokens, and the model was trained for texts of 2048")) << result.error;
}

TEST_F(CliStart, StaysWithinTheMemoryThatItIsGiven) {
  for (const char* size : {"1GiB", "1g", "1.5 GB", "1073741824"}) EXPECT_EQ(generate({"--memory", size}).code, 0) << size;
  const Result small = generate({"--memory", "1MiB"});
  EXPECT_EQ(small.code, 5) << small.error;
  EXPECT_TRUE(contains(small.error, "memory limit")) << small.error;
  for (const char* wrong : {"much", "1.5.2GiB", "-1GiB", "6GiBit", "", "G", "nan"}) {
    const Result result = generate({"--memory", wrong});
    EXPECT_EQ(result.code, 2) << wrong;
    EXPECT_TRUE(contains(result.error, "is no size such as 6GiB")) << result.error;
  }
  EXPECT_TRUE(contains(generate({"--memory", "40"}).error, "'40' is less than a MiB")) << "of a number without a unit";
  EXPECT_TRUE(contains(generate({"--memory", "99999999999TiB"}).error, "more than any device has"));
  const Result variable =
      run(Command{.arguments = {"run", "-m", model(), "-p", "Hello", "-n", "1"}, .environment = {{"SKIPSTONE_MEMORY", "1MiB"}}});
  EXPECT_EQ(variable.code, 5) << variable.error;
  for (const char* command : {"chat", "bench", "tune", "inspect", "serve", "devices", "report", "tune-device"}) {
    EXPECT_TRUE(contains(run({command, "--help"}).out, "--memory SIZE")) << command;
  }
}

// `inspect` plans for each device as loading does.
TEST_F(CliStart, InspectSaysWhetherEachDeviceFits) {
  const auto fits = [&](const Arguments& more) {
    Arguments all = {"inspect", model(), "--json"};
    all.insert(all.end(), more.begin(), more.end());
    return json::parse(run(all).out)["devices"];
  };
  const json listed = json::parse(run({"devices", "--json"}).out)["devices"], all = fits({});
  ASSERT_EQ(all.size(), listed.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i]["name"], listed[i]["name"]);
    EXPECT_TRUE(all[i]["fits"].get<bool>()) << all[i];
    EXPECT_GT(all[i]["available"].get<std::uint64_t>(), 0u);
  }
  const json none = fits({"--memory", "1MiB"});
  EXPECT_FALSE(none[0]["fits"].get<bool>());
  EXPECT_TRUE(contains(none[0]["why"], "memory limit")) << none[0];
  EXPECT_TRUE(contains(run({"inspect", model()}).out, ": fits ("));
  EXPECT_TRUE(contains(run({"inspect", model(), "--memory", "1MiB"}).out, ": does not fit: "));
}

// What `inspect` plans with a limit is enough to generate, and a tenth less is refused before anything is loaded.
TEST_F(CliStart, APlannedLimitIsEnough) {
  const std::string bundled = SKIPSTONE_MODELS "/skipstone-py.gguf";
  for (const char* context : {"256", "2048"}) {
    const json plan = json::parse(run({"inspect", bundled, "--json", "--ctx", context}).out)["memory_plan"];
    const std::uint64_t planned = plan["total"].get<std::uint64_t>() + plan["working"].get<std::uint64_t>();
    const auto with = [&](std::uint64_t bytes) {
      return run({"run", "-m", bundled, "-p", "def f(", "-n", "40", "--ctx", context, "--memory", std::to_string(bytes)});
    };
    const Result enough = with(planned), less = with(planned - planned / 10);
    EXPECT_EQ(enough.code, 0) << enough.error;
    EXPECT_EQ(less.code, 5) << less.error;
    EXPECT_TRUE(contains(less.error, "working memory), but the memory limit is")) << less.error;
    const json fits =
        json::parse(run({"inspect", bundled, "--json", "--ctx", context, "--memory", std::to_string(planned)}).out)["devices"][0];
    EXPECT_TRUE(fits["fits"].get<bool>()) << fits;
  }
}

// A model with experts is larger than the limit: what `inspect` and `devices --plan` say of it is what `run` does.
TEST_F(CliStart, ExpertsThatDoNotFitStayInHostMemory) {
  fixtures::TinyConfig config = fixtures::tiny_family("qwen3moe");
  config.layers = 4;
  config.dim = 128;
  config.experts = 60;
  const std::string file = folder_.file("experts.gguf");
  fixtures::write_tiny_model(config, file);
  const json plan = json::parse(run({"inspect", file, "--json"}).out)["memory_plan"];
  const std::string limit = std::to_string((plan["total"].get<std::uint64_t>() + plan["working"].get<std::uint64_t>()) * 2 / 3);
  const auto generate = [&](const Arguments& more) {
    Arguments all = {"run", "-m", file, "-p", "the quick", "-n", "12", "--temp", "0", "--json"};
    all.insert(all.end(), more.begin(), more.end());
    return run(all);
  };
  const json whole = json::parse(generate({}).out), limited = json::parse(generate({"--memory", limit}).out);
  EXPECT_EQ(limited["text"], whole["text"]);
  EXPECT_EQ(whole["device"]["experts_on_host"], 0);
  const json layers = limited["device"]["experts_on_host"];
  EXPECT_GT(layers, 0);
  EXPECT_GT(limited["device"]["host_bytes"], 0);

  const json fits = json::parse(run({"inspect", file, "--json", "--memory", limit}).out)["devices"][0];
  EXPECT_TRUE(fits["fits"].get<bool>()) << fits;
  EXPECT_EQ(fits["experts_on_host"], layers);
  EXPECT_TRUE(contains(run({"inspect", file, "--memory", limit}).out, "fits with the experts of the first "));
  const json stage = json::parse(run({"devices", "--plan", "-m", file, "--memory", limit, "--device", "0", "--json"}).out)["stages"][0];
  EXPECT_EQ(stage["experts_on_host"], layers);
  EXPECT_EQ(stage["host_weights"], fits["host_weights"]);
  EXPECT_TRUE(contains(run({"devices", "--plan", "-m", file, "--memory", limit, "--device", "0"}).out, "stay in host memory"));

  for (const char* name : {"--experts-on-host", "--n-cpu-moe"}) EXPECT_EQ(json::parse(generate({name, "2"}).out)["text"], whole["text"]);
  EXPECT_TRUE(contains(generate({"--experts-on-host", "2"}).error, "experts of the first 2 layers in host memory"));
  const Result none = generate({"--memory", limit, "--experts-on-host", "0"});
  EXPECT_EQ(none.code, 5);
  EXPECT_TRUE(contains(none.error, "but the memory limit is")) << none.error;
  const Result dense = run({"run", "-m", model(), "-p", "the", "-n", "1", "--experts-on-host", "2"});
  EXPECT_EQ(dense.code, 0);  // a variable of the environment meets models without experts too
  EXPECT_TRUE(contains(dense.error, "warning: the model has no experts")) << dense.error;
}

// --device chooses among them.
TEST_F(CliStart, PlansForTheChosenDevice) {
  const std::string name = json::parse(run({"devices", "--json"}).out)["devices"][0]["name"];
  const json fit = json::parse(run({"inspect", model(), "--json", "--device", "0"}).out)["devices"][0];
  EXPECT_EQ(fit["name"], name);
  EXPECT_TRUE(fit["fits"].get<bool>()) << fit;
  EXPECT_EQ(run({"inspect", model(), "--device", "nothing like it"}).code, 4);
  const json stages = json::parse(run({"devices", "--plan", "-m", model(), "--json", "--device", "0"}).out)["stages"];
  ASSERT_EQ(stages.size(), 1u);
  EXPECT_EQ(stages[0]["device"], name);
  EXPECT_EQ(run({"devices", "--plan", "-m", model(), "--device", "nothing like it"}).code, 4);
}

// The values of options, else the model file's, else those that --help shows.
TEST_F(CliStart, SamplesAlikeInAllCommands) {
  const auto text = [&](const Arguments& more) { return generate(more).out; };
  const Arguments shown = {"--temp", "0.8", "--top-k", "40", "--top-p", "0.95", "--min-p", "0.05"};
  EXPECT_EQ(text({}), text(shown));
  EXPECT_NE(text({}), text({"--temp", "0"}));
  EXPECT_NE(text({}), text({"--seed", "7"}));
  for (const char* command : {"run", "chat", "serve"}) {
    const std::string help = run({command, "--help"}).out;
    for (const char* part :
         {"--temp FLOAT=0.8", "--top-k UINT=40", "--top-p FLOAT=0.95", "--min-p FLOAT=0.05", "unless the model's file recommends others"})
      EXPECT_TRUE(contains(help, part)) << command << part << help;
  }
  const auto answer = [&](const Arguments& more) {
    Arguments all = {"run", "--chat", "-m", model(), "-p", "Hello", "-n", "16"};
    all.insert(all.end(), more.begin(), more.end());
    return run(all).out;
  };
  EXPECT_EQ(answer({}), answer(shown));
}

TEST_F(CliStart, TakesTheModelFilesSamplingBeforeItsOwn) {
  tests::EditedModel model;
  model.set("general.sampling.temp", 0.6f).set("general.sampling.top_k", std::int32_t{20});
  model.write(folder_.file("advice.gguf"));
  const auto text = [&](const Arguments& more) {
    Arguments all = {"run", "-m", folder_.file("advice.gguf"), "-p", "Hello", "-n", "24"};
    all.insert(all.end(), more.begin(), more.end());
    const Result result = run(all);
    EXPECT_EQ(result.code, 0) << result.error;
    return result.out;
  };
  EXPECT_EQ(text({}), text({"--temp", "0.6", "--top-k", "20", "--top-p", "0.95", "--min-p", "0.05"}));
  EXPECT_EQ(text({"--temp", "0"}), text({"--temp", "0", "--top-k", "0"}));
  EXPECT_NE(text({}), text({"--temp", "1.5", "--top-k", "0", "--min-p", "0"}));
}

// Half of the context where -n says nothing; a full context offers the ways on.
TEST_F(CliStart, AnAnswerInAChatHasACap) {
  const Result capped = run(Command{
      {"chat", "-m", model(), "--ctx", "64", "--temp", "2", "--top-k", "0", "--top-p", "1", "--min-p", "0", "--seed", "3"}, "Hello\n"});
  ASSERT_EQ(capped.code, 0) << capped.error;
  EXPECT_TRUE(contains(capped.error, "cut at the limit of 32 tokens (-n)")) << capped.error;
  const Result full = run(Command{
      {"chat", "-m", model(), "--ctx", "64", "-n", "-1", "--temp", "2", "--top-k", "0", "--top-p", "1", "--min-p", "0", "--seed", "3"},
      "Hello\nHello\n"});
  EXPECT_TRUE(contains(full.error, "the context is full")) << full.error;
  EXPECT_TRUE(contains(full.error, "the model was trained for 2048 tokens: skipstone chat --ctx 128 has more room")) << full.error;
}

}  // namespace
}  // namespace skipstone::e2e
