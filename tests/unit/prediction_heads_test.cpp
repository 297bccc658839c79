// A model and its head for multi-token prediction in two files.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/status.h"
#include "edited_model.h"
#include "ref/model.h"

namespace skipstone {
namespace {

using tests::EditedModel;

fixtures::TinyConfig with_head(std::string_view architecture) {
  fixtures::TinyConfig config = fixtures::tiny_family(architecture);
  config.prediction_layers = 1;
  return config;
}

/// The tensors' names without those that `is_left_out` says.
template <typename Predicate>
EditedModel without(const fixtures::TinyConfig& config, Predicate is_left_out) {
  EditedModel edited(config);
  const gguf::File file = edited.open();
  for (const gguf::Tensor& tensor : file.tensors()) {
    if (is_left_out(tensor.name)) edited.remove_tensor(tensor.name);
  }
  return edited;
}

/// A tiny model's five layers, and its head in a file as converters write it.
class PredictionHeads : public testing::TestWithParam<const char*> {
 protected:
  static std::string key(const char* name) { return std::string(GetParam()) + "." + name; }
  static EditedModel whole() { return EditedModel(with_head(GetParam())); }
  static gguf::File model() {
    EditedModel edited = without(with_head(GetParam()), [](const std::string& name) { return name.starts_with("blk.5."); });
    const std::string list = key("attention.recurrent_layers");
    if (std::vector<std::int32_t> recurrent = edited.open().integers(list); !recurrent.empty()) {
      recurrent.pop_back();
      edited.set_array(list, recurrent);
    }
    return edited.set(key("block_count"), std::uint32_t{5}).remove(key("nextn_predict_layers")).open();
  }
  static EditedModel head() {
    return without(with_head(GetParam()), [](const std::string& name) { return name.starts_with("blk.") && !name.starts_with("blk.5."); });
  }
  gguf::File joined(const EditedModel& head) const {
    head.write(path());
    return model::with_prediction_heads(model(), path());
  }
  std::string path() const { return directory_.file("mtp-tiny.gguf"); }

  /// The file says what the whole model says, and its head drafts the same.
  void expect_whole(const gguf::File& file) const {
    const gguf::File all = whole().open();
    const model::Config config = model::Config::from(file), wanted = model::Config::from(all);
    EXPECT_EQ(config.layers, wanted.layers);
    ASSERT_EQ(config.prediction_layers, wanted.prediction_layers);
    ASSERT_EQ(config.prediction_layers.size(), 1u);
    EXPECT_EQ(file.tensors().size(), all.tensors().size());
    const ref::Model split(file, KvFormat::f32), together(all, KvFormat::f32);
    EXPECT_EQ(drafts(split), drafts(together));
  }

  static std::vector<std::vector<float>> drafts(const ref::Model& model) {
    ref::Sequence sequence = model.new_sequence();
    const std::vector<std::int32_t> text{1, 40, 50, 60, 70}, next{40, 50, 60, 70, 80};
    const ref::Result result = model.forward(sequence, text, 0, exec::LayerPlan::full(model.config().layer_count()));
    std::vector<float> hidden;
    for (const std::vector<float>& row : result.hidden) hidden.insert(hidden.end(), row.begin(), row.end());
    return model.predict(sequence, next, 0, model.normalised(hidden)).logits;
  }

  const fixtures::TemporaryDirectory directory_;
};

TEST_P(PredictionHeads, AreReadAsIfTheyWereInTheModelsFile) {
  const gguf::File file = joined(head());
  expect_whole(file);
  EXPECT_GT(file.file_bytes(), model().file_bytes());
}

TEST_P(PredictionHeads, NeedNoCopiesOfTheModelsMatrices) {
  expect_whole(joined(head().remove_tensor("token_embd.weight").remove_tensor("output_norm.weight").remove_tensor("output.weight")));
}

TEST_P(PredictionHeads, MayBeTheirFilesOnlyBlocks) {
  EditedModel alone = head();
  const gguf::File file = alone.open();
  for (const gguf::Tensor& tensor : file.tensors()) {
    if (tensor.name.starts_with("blk.5.")) alone.rename_tensor(tensor.name, "blk.0." + tensor.name.substr(6));
  }
  alone.set(key("block_count"), std::uint32_t{1});
  if (const auto arrays = key("attention.recurrent_layers"); file.find(arrays) != nullptr) alone.set_array(arrays, {0});
  expect_whole(joined(alone));
}

TEST_P(PredictionHeads, MayComeFromAFileThatHasTheModelToo) { expect_whole(joined(whole())); }

TEST_P(PredictionHeads, OfAModelWhoseKeysCountAHeadThatIsNotThere) {
  head().write(path());
  const gguf::File stripped = without(with_head(GetParam()), [](const std::string& name) { return name.starts_with("blk.5."); }).open();
  EXPECT_TRUE(model::Config::from(stripped).prediction_layers.empty());
  expect_whole(model::with_prediction_heads(
      without(with_head(GetParam()), [](const std::string& name) { return name.starts_with("blk.5."); }).open(), path()));
}

INSTANTIATE_TEST_SUITE_P(Families, PredictionHeads, testing::Values("llama", "qwen3", "granite", "qwen35"),
                         [](const auto& name) { return std::string(name.param); });

/// What is wrong with a pair of files.
class WrongHeads : public testing::Test {
 protected:
  static EditedModel head(const fixtures::TinyConfig& config = with_head("llama")) {
    return without(config, [](const std::string& name) { return name.starts_with("blk.") && !name.starts_with("blk.5."); });
  }
  static EditedModel model() {
    fixtures::TinyConfig config = with_head("llama");
    config.prediction_layers = 0;
    return EditedModel(config);
  }
  std::string path() const { return directory_.file("mtp-tiny.gguf"); }

  void expect(const EditedModel& head, Code code, const std::string& part, const EditedModel& model = WrongHeads::model()) const {
    head.write(path());
    expect_file(code, part, model);
  }
  void expect_file(Code code, const std::string& part, const EditedModel& model = WrongHeads::model()) const {
    try {
      (void)model::Config::from(model::with_prediction_heads(model.open(), path()));
      ADD_FAILURE() << "was taken; wanted: " << part;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what() << "\nwanted: " << part;
    }
  }

  const fixtures::TemporaryDirectory directory_;
};

TEST_F(WrongHeads, FilesWithoutAHead) {
  const std::string sentence = "mtp-tiny.gguf: has no head for multi-token prediction ('llama.nextn_predict_layers' is missing or 0";
  expect(model(), Code::invalid_argument, sentence);
  expect(head().set("llama.nextn_predict_layers", std::uint32_t{0}), Code::invalid_argument, sentence);
  expect(head().remove_tensor("blk.5.nextn.eh_proj.weight"), Code::invalid_argument, sentence);
  std::filesystem::remove(path());
  expect_file(Code::bad_file, "mtp-tiny.gguf");  // there is none: not the model is missing
}

TEST_F(WrongHeads, HeadsOfAnotherModel) {
  const std::string sentence = "mtp-tiny.gguf: is the head of another model: its ";
  expect(head(with_head("qwen3")), Code::invalid_argument, sentence + "architecture is qwen3, the model's is llama");
  fixtures::TinyConfig other = with_head("llama");
  other.dim = 64;
  expect(head(other), Code::invalid_argument, sentence + "'llama.embedding_length' is 64, the model's is 48");
  other = with_head("llama");
  other.ffn = 128;
  expect(head(other), Code::invalid_argument, sentence + "'llama.feed_forward_length' is 128, the model's is 64");
  other = with_head("llama");
  other.kv_heads = 4;
  expect(head(other), Code::invalid_argument, sentence + "'llama.attention.head_count_kv' is 4, the model's is 2");
  other = with_head("llama");
  other.vocab = fixtures::tiny_vocabulary_size() + 8;
  expect(head(other), Code::invalid_argument, sentence + "'llama.vocab_size' is ");
  expect(head(other).remove("llama.vocab_size"), Code::invalid_argument, sentence + "number of tokens is ");
  expect(head(other).remove("llama.vocab_size").remove_tensor("token_embd.weight"), Code::invalid_argument,
         sentence + "number of tokens is ");
  other = with_head("llama");
  other.layers = 4;
  expect(without(other, [](const std::string& name) { return name.starts_with("blk.") && !name.starts_with("blk.4."); }),
         Code::invalid_argument, sentence + "number of layers is 4, the model's is 5");
  // Files that say less of themselves show it by their tensors' shapes.
  expect(head().tensor("blk.5.nextn.eh_proj.weight", {48, 48}), Code::bad_file,
         "Tensor 'blk.5.nextn.eh_proj.weight' has shape 48x48, expected 96x48");
}

TEST_F(WrongHeads, ASecondHead) {
  expect(head(), Code::invalid_argument, "mtp-tiny.gguf: the model has a head for multi-token prediction already (",
         EditedModel(with_head("llama")));
}

TEST_F(WrongHeads, DamagedFiles) {
  expect(head().remove_tensor("blk.5.ffn_up.weight"), Code::bad_file, "Tensor 'blk.5.ffn_up.weight' is missing");
  expect(head().set("llama.nextn_predict_layers", std::uint32_t{7}), Code::bad_file, "'llama.nextn_predict_layers' is 7, expected 0 to 6");
  expect(head().set("llama.block_count", std::uint32_t{0}), Code::bad_file, "'llama.block_count' is 0");
  expect(head().tensor("blk.5.ffn_other.weight", {48}), Code::unsupported, "'blk.5.ffn_other.weight'");
  std::vector<std::int32_t> lengths(5, 64);
  expect(head().set_array("llama.feed_forward_length", {64, 64}), Code::bad_file, "has 2 items, but the file has 6 blocks",
         model().set_array("llama.feed_forward_length", lengths));
}

TEST_F(WrongHeads, WhereLayersHaveWindowsOrOneSublayer) {
  fixtures::TinyConfig windows = with_head("llama");
  EditedModel beside = model().set("llama.attention.sliding_window", std::uint32_t{12});
  expect(head(windows), Code::unsupported, "where the last layer has a sliding window", beside);
  EditedModel sublayers(fixtures::tiny_family("nemotron_h"));
  sublayers.set("nemotron_h.nextn_predict_layers", std::uint32_t{1});
  try {
    (void)model::Config::from(sublayers.open());
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("is a head for multi-token prediction ('nemotron_h.nextn_predict_layers' is 1) without"),
              std::string::npos)
        << error.what();
  }
}

TEST_F(WrongHeads, AFileOfHeadsIsNoModel) {
  const EditedModel shared = head().remove_tensor("token_embd.weight");
  for (const EditedModel& file : {head(), shared}) {
    try {
      (void)model::Config::from(file.open());
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::unsupported);
      EXPECT_STREQ(error.what(), "The file has a head for multi-token prediction and no layers; load it beside its model (--mtp-file).");
    }
  }
}

TEST_F(WrongHeads, TheModelKeepsItsFingerprint) {
  head().write(path());
  const gguf::File alone = model().open(), joined = model::with_prediction_heads(model().open(), path());
  EXPECT_EQ(joined.joined_fingerprint(), gguf::File::open(path()).fingerprint());
  EXPECT_EQ(alone.joined_fingerprint(), "");
  EXPECT_EQ(joined.fingerprint(), alone.fingerprint());
}

}  // namespace
}  // namespace skipstone
