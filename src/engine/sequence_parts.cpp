#include "engine/sequence_parts.h"

namespace skipstone::engine {

exec::PassSpec SequenceParts::pass(const exec::LayerPlan& layers, std::size_t rows) const {
  exec::PassSpec spec;
  spec.layers = layers;
  spec.bucket = kernels::bucket_for(static_cast<std::uint32_t>(rows));
  spec.output = verifier.output();
  return spec;
}

exec::PassSpec SequenceParts::prompt_pass(std::size_t rows) const {
  exec::PassSpec spec;
  spec.layers = exec::LayerPlan::full(config.layer_count());
  spec.prompt = true;
  spec.bucket = kernels::prompt_bucket_for(static_cast<std::uint32_t>(rows));
  spec.output = verifier.output();
  spec.last_row_only = true;
  return spec;
}

void SequenceParts::request(exec::PassSpec& spec, exec::Rows& rows) {
  verifier.request(text, batch);
  spec.output = verifier.output(batch);
  rows.candidates = batch.requests.rows();
}

void SequenceParts::run_batch(exec::PassSpec spec, exec::Rows rows) {
  request(spec, rows);
  passes.run(spec, rows);
}

void SequenceParts::end_round(bool keep_predicted) {
  exits.drop();
  verifier.next_round();
  saved.begin(0);
  saved.keep_predicted(keep_predicted);
  if (!keep_predicted) passes.hidden_states().release();
  round_watch.reset();
}

std::vector<float> SequenceParts::mean_attention_cosine(std::size_t tokens) const {
  std::vector<float> cosines = passes.results().cosine_sums;
  cosines.resize(config.layer_count());
  for (float& sum : cosines) sum /= static_cast<float>(tokens);
  return cosines;
}

}  // namespace skipstone::engine
