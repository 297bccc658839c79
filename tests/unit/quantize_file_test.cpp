// A model file in another type: what is kept, what the new weights are worth, and what is refused.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "base/log.h"
#include "convert/tensor_type.h"
#include "edited_model.h"
#include "fixtures/tiny_model.h"
#include "golden_blocks.h"
#include "quantize_fixture.h"

namespace skipstone::convert {
namespace {

using fixtures::bytes_of;
using fixtures::Failure;
using fixtures::failure_of;
using fixtures::write_tiny_model;
using gguf::File;
using gguf::Tensor;
using gguf::Type;
using tests::EditedModel;

TEST_F(QuantizeFile, KeepsMetadataAndTheOrderOfTensors) {
  EditedModel edited({.tied = false, .biases = true, .rope_freqs = true});
  edited.set("general.file_type", std::uint32_t{0}).set("custom.small", std::uint8_t{7}).set("custom.long", std::int64_t{-1});
  edited.set("general.alignment", std::uint32_t{64}).set_array("custom.empty", {});
  edited.write(file("in.gguf"));
  const File before = File::open(file("in.gguf"));
  for (const gguf::Traits& written : gguf::all_traits()) {
    if (!written.writable()) continue;
    const Type type = written.type;
    const File after = File::open(quantized(file("in.gguf"), type));
    const bool blocks = gguf::traits(type).block > 1;
    ASSERT_EQ(after.metadata().size(), before.metadata().size() + (blocks ? 1 : 0));
    for (std::size_t i = 0; i < before.metadata().size(); ++i) {
      const gguf::Pair &was = before.metadata()[i], &is = after.metadata()[i];
      EXPECT_EQ(is.key, was.key);
      EXPECT_EQ(gguf::type_name(is.value), gguf::type_name(was.value)) << was.key;
      const auto* array = std::get_if<std::shared_ptr<const gguf::Array>>(&was.value);
      if (array != nullptr) {
        EXPECT_EQ(std::get<std::shared_ptr<const gguf::Array>>(is.value)->items, (*array)->items) << was.key;
      } else if (was.key != "general.file_type") {
        EXPECT_EQ(is.value, was.value) << was.key;
      }
    }
    EXPECT_EQ(*after.find("general.file_type"), gguf::Value(traits(file_type_of(type)).number));
    if (blocks) {
      EXPECT_EQ(*after.find("general.quantization_version"), gguf::Value(std::uint32_t{2}));
    }
    ASSERT_EQ(after.tensors().size(), before.tensors().size());
    for (std::size_t i = 0; i < before.tensors().size(); ++i) {
      const Tensor &was = before.tensors()[i], &is = after.tensors()[i];
      EXPECT_EQ(is.name, was.name);
      EXPECT_EQ(is.shape, was.shape);
      EXPECT_EQ(is.dimensions, was.dimensions);
      EXPECT_EQ(is.type, TensorTypes(file_type_of(type), MixFacts::of(before)).choose(was.name, std::span(was.shape).first(was.dimensions)))
          << was.name;
    }
  }
}

TEST_F(QuantizeFile, HalvesSurviveTheWayThroughF32) {
  write_tiny_model({.type = Type::f16}, file("half.gguf"));
  const std::string wide = quantized(file("half.gguf"), Type::f32);
  const File before = File::open(file("half.gguf")), middle = File::open(wide), after = File::open(quantized(wide, Type::f16));
  for (std::size_t i = 0; i < before.tensors().size(); ++i) {
    const Tensor &was = before.tensors()[i], &is = after.tensors()[i];
    EXPECT_EQ(weights_of(middle.tensors()[i]), weights_of(was)) << was.name;
    EXPECT_TRUE(is.data == was.data) << was.name;
  }
}

double cosine(std::span<const float> a, std::span<const float> b) {
  double ab = 0.0, aa = 0.0, bb = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    aa += static_cast<double>(a[i]) * static_cast<double>(a[i]);
    bb += static_cast<double>(b[i]) * static_cast<double>(b[i]);
  }
  return ab / std::sqrt(aa * bb);
}

// Uniform rounding with step s errs by s / sqrt(12). The tiny model's weights are uniform on +-m, of deviation m / sqrt(3): the error is s
// / 2m of it, and the cosine 1 - (s / 2m)^2 / 2. That is 1 - 8e-6 for Q8_0 (s = m / 127) and 1 - 2e-3 for Q4_0 (s = m / 8); single rows
// scatter.
TEST_F(QuantizeFile, EveryRowPointsWhereItPointed) {
  write_tiny_model({.layers = 1, .dim = 256, .ffn = 256, .tied = false}, file("wide.gguf"));
  const File before = File::open(file("wide.gguf"));
  for (const gguf::Traits& each : gguf::all_traits()) {
    if (!each.writable() || each.type == Type::f32) continue;
    EXPECT_EQ(std::ranges::count(gguf::rounding_errors, each.type, &gguf::RoundingErrors::type), 1) << each.name;
  }
  for (const gguf::RoundingErrors& bounds : gguf::rounding_errors) {
    const File after = File::open(quantized(file("wide.gguf"), bounds.type));
    double worst = 1.0;
    for (std::size_t i = 0; i < before.tensors().size(); ++i) {
      const std::vector<float> was = weights_of(before.tensors()[i]), is = weights_of(after.tensors()[i]);
      const auto length = static_cast<std::size_t>(before.tensors()[i].row_length());
      for (std::size_t at = 0; at < was.size(); at += length) {
        worst = std::min(worst, cosine(std::span(was).subspan(at, length), std::span(is).subspan(at, length)));
      }
    }
    EXPECT_GT(worst, bounds.least) << gguf::traits(bounds.type).name;
    EXPECT_LT(worst, bounds.most) << gguf::traits(bounds.type).name;
  }
}

TEST_F(QuantizeFile, ThreadsChangeNothing) {
  write_tiny_model({.layers = 1, .vocab = 5000}, file("in.gguf"));  // 320000 weights in the embedding: enough for several threads
  std::string alone;
  for (const unsigned threads : {1u, 2u, 3u, 16u}) {
    QuantizeOptions given = options(file("in.gguf"), file("out.gguf"), Type::q8_0);
    given.threads = threads;
    given.overwrite = true;
    quantize(given);
    if (threads == 1) alone = bytes_of(file("out.gguf"));
    EXPECT_EQ(bytes_of(file("out.gguf")), alone) << threads;
  }
}

TEST_F(QuantizeFile, MakesOneFileOfASplitModel) {
  write_tiny_model({.layers = 2}, file("whole.gguf"));
  const File whole = File::open(file("whole.gguf"));
  for (std::uint16_t part = 0; part < 2; ++part) {
    gguf::Writer writer;
    for (const gguf::Pair& pair : whole.metadata()) {
      if (part == 0) writer.set(pair.key, pair.value);
    }
    writer.set("split.no", part);
    writer.set("split.count", std::uint16_t{2});
    writer.set("split.tensors.count", static_cast<std::int32_t>(whole.tensors().size()));
    for (std::size_t i = 0; i < whole.tensors().size(); ++i) {
      const Tensor& tensor = whole.tensors()[i];
      if ((i < 7) == (part == 0))
        writer.add_tensor(tensor.name, tensor.type, std::span(tensor.shape).first(tensor.dimensions),
                          std::span<const std::byte>(tensor.data.all()));
    }
    writer.write(file(fmt::format("part-{:05}-of-00002.gguf", part + 1)));
  }
  EXPECT_EQ(bytes_of(quantized(file("part-00002-of-00002.gguf"), Type::q8_0)), bytes_of(quantized(file("whole.gguf"), Type::q8_0)));
  QuantizeOptions given = options(file("part-00001-of-00002.gguf"), file("part-00002-of-00002.gguf"), Type::q8_0);
  given.overwrite = true;
  EXPECT_NE(refused(given).message.find("is the input"), std::string::npos);
}

TEST_F(QuantizeFile, QuantisedSourcesAreTakenWithOneWarning) {
  int warnings = 0;
  log::set_sink([&](log::Level level, std::string_view) { warnings += level == log::Level::warning ? 1 : 0; });
  write_tiny_model({.type = Type::q8_0}, file("q8.gguf"));
  const File before = File::open(file("q8.gguf"));
  const File same = File::open(quantized(file("q8.gguf"), Type::q8_0));
  EXPECT_EQ(warnings, 0);
  for (std::size_t i = 0; i < before.tensors().size(); ++i) {
    EXPECT_TRUE(same.tensors()[i].data == before.tensors()[i].data);
  }
  const File wide = File::open(quantized(file("q8.gguf"), Type::f32));
  EXPECT_EQ(warnings, 1);
  for (std::size_t i = 0; i < before.tensors().size(); ++i) EXPECT_EQ(weights_of(wide.tensors()[i]), weights_of(before.tensors()[i]));
  quantized(file("q8.gguf"), Type::q4_0);
  EXPECT_EQ(warnings, 2);
  write_tiny_model({.type = Type::q4_0}, file("q4.gguf"));
  EXPECT_EQ(File::open(quantized(file("q4.gguf"), Type::q4_0)).find_tensor("token_embd.weight")->type, Type::q4_0);
  EXPECT_EQ(warnings, 2);
  log::set_sink({});
}

TEST_F(QuantizeFile, RefusesWeightsThatDoNotFit) {
  struct Case {
    float weight;
    Type type;
    Code code;
    const char* part;
  };
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const std::array cases = {Case{nan, Type::q8_0, Code::bad_file, "not finite"},
                            Case{-infinity, Type::f32, Code::bad_file, "not finite"},
                            Case{nan, Type::bf16, Code::bad_file, "not finite"},
                            Case{70000.0f, Type::f16, Code::unsupported, "too large for F16"},
                            Case{-70000.0f, Type::f16, Code::unsupported, "too large for F16"},
                            Case{1e7f, Type::q8_0, Code::unsupported, "too large for Q8_0"},
                            Case{1e6f, Type::q4_0, Code::unsupported, "too large for Q4_0"},
                            Case{70000.0f, Type::q5_1, Code::unsupported, "too large for Q5_1"},
                            Case{3.4e38f, Type::bf16, Code::unsupported, "too large for BF16"},
                            Case{65504.0f, Type::f16, Code::ok, ""},
                            Case{65504.0f * 127.0f, Type::q8_0, Code::ok, ""},
                            Case{65504.0f * 8.0f, Type::q4_0, Code::ok, ""},
                            Case{3.4e38f, Type::f32, Code::ok, ""}};
  for (const Case& each : cases) {
    std::vector<float> weights(64 * 128, 0.5f);
    weights[64 * 77 + 33] = each.weight;
    weights[64 * 99] = nan;
    if (each.code == Code::ok) weights[64 * 99] = 0.5f;
    EditedModel({.layers = 1}).tensor("blk.0.ffn_up.weight", {64, 128}, weights).write(file("in.gguf"));
    if (each.code == Code::ok) {
      const File after = File::open(quantized(file("in.gguf"), each.type));
      EXPECT_EQ(weights_of(*after.find_tensor("blk.0.ffn_up.weight"))[64 * 77 + 33], each.weight);
      continue;
    }
    const Failure failure = refused(file("in.gguf"), file("out.gguf"), each.type);
    EXPECT_EQ(failure.code, each.code) << failure.message;
    for (const char* part : {each.part, "'blk.0.ffn_up.weight'", "row 77"}) {
      EXPECT_NE(failure.message.find(part), std::string::npos) << failure.message;
    }
  }
}

TEST_F(QuantizeFile, RefusesTypesThatItCannotExpand) {
  EditedModel({.layers = 1}).tensor("blk.0.ffn_up.weight", {256, 2}, {}, static_cast<Type>(9)).write(file("k.gguf"));
  const Failure failure = refused(file("k.gguf"), file("out.gguf"));
  EXPECT_EQ(failure.code, Code::unsupported);
  EXPECT_NE(failure.message.find("'blk.0.ffn_up.weight' is of type Q8_1"), std::string::npos) << failure.message;
}

TEST_F(QuantizeFile, RefusesPaths) {
  write_tiny_model({.layers = 1}, file("in.gguf"));
  write_tiny_model({.layers = 1, .seed = 2}, file("there.gguf"));
  std::filesystem::create_hard_link(file("in.gguf"), file("hard.gguf"));
  const std::string before = bytes_of(file("there.gguf")), input = bytes_of(file("in.gguf"));
  const auto expect = [&](const std::string& from, const std::string& to, Code code, const std::string& part) {
    const Failure failure = refused(from, to);
    EXPECT_EQ(failure.code, code) << failure.message;
    EXPECT_NE(failure.message.find(part), std::string::npos) << failure.message;
  };
  expect(file("absent.gguf"), file("out.gguf"), Code::not_found, "absent.gguf");
  expect(fixtures::null_device, file("out.gguf"), Code::bad_file, fixtures::null_device);
  expect(file("in.gguf"), file("in.gguf"), Code::invalid_argument, "is the input");
  expect(file("in.gguf"), fixtures::text_of(folder_.path()) + "/./in.gguf", Code::invalid_argument, "is the input");
  expect(file("in.gguf"), file("hard.gguf"), Code::invalid_argument, "is the input");
  expect(file("in.gguf"), fixtures::text_of(folder_.path()), Code::invalid_argument, "is a folder");
  expect(file("in.gguf"), "", Code::invalid_argument, "no name");
  expect(file("in.gguf"), file("there.gguf"), Code::invalid_argument, "is there already");
  expect(file("in.gguf"), file("no/such/folder.gguf"), Code::io, fixtures::no_such_folder());
  QuantizeOptions forced = options(file("in.gguf"), fixtures::null_device, Type::q8_0);
  forced.overwrite = true;
  EXPECT_EQ(refused(forced).code, Code::io);
  EXPECT_EQ(bytes_of(file("there.gguf")), before);
  EXPECT_EQ(bytes_of(file("in.gguf")), input);
  forced.output = file("there.gguf");
  quantize(forced);
  EXPECT_EQ(File::open(file("there.gguf")).find_tensor("token_embd.weight")->type, Type::q8_0);
}

TEST_F(QuantizeFile, DamagedInputIsNotTouchedFurther) {
  write_tiny_model({.layers = 1}, file("in.gguf"));
  std::filesystem::resize_file(file("in.gguf"), std::filesystem::file_size(file("in.gguf")) / 2);
  EXPECT_EQ(refused(file("in.gguf"), file("out.gguf")).code, Code::bad_file);
}

TEST_F(QuantizeFile, StopsWhereTheCallerSaysSo) {
  write_tiny_model({}, file("in.gguf"));
  QuantizeOptions given = options(file("in.gguf"), file("out.gguf"), Type::q8_0);
  std::uint64_t calls = 0, last = 0;
  given.progress = [&](std::uint64_t written, std::uint64_t total) {
    EXPECT_GT(written, last);
    EXPECT_LE(written, total);
    last = written;
    return ++calls < 5;
  };
  EXPECT_EQ(refused(given).code, Code::cancelled);
  EXPECT_EQ(calls, 5u);
}

}  // namespace
}  // namespace skipstone::convert
