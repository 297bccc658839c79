// Which passes read and write the states of recurrent layers.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/kernel_table.h"
#include "plan/plans.h"

namespace skipstone::exec {
namespace {

using kernels::Dispatch;
using kernels::KernelId;
using kernels::ResourceKind;

// Rollback copies no state: a pass reads it and writes it in the dispatch that computes the layer's rows.
TEST(PlanStates, StatesAreAccessedOnceInALayer) {
  for (const char* family : {"qwen35", "granitehybrid", "nemotron_h"}) {
    SCOPED_TRACE(family);
    const Plans plans(fixtures::tiny_family(family), lavapipe_like());
    const LayerPlan all = plans.layers();
    const std::pair<PassSpec, std::uint32_t> passes[] = {
        {{.layers = all, .bucket = 8}, SCAN_ROWS},
        {{.layers = all, .bucket = 8, .tree = true}, SCAN_ROWS},
        {{.layers = all, .bucket = 64, .prompt = true, .last_row_only = true}, SCAN_PROMPT},
        {{.layers = all, .step = RoundStep::draft}, SCAN_DRAFT},
        {{.layers = all, .output = Output::none, .kv_only = true}, SCAN_STORE}};
    for (const auto& [spec, extent] : passes) {
      const Plan plan = plans.build(spec);
      for (std::uint32_t layer = 0; layer < plans.config().layer_count(); ++layer) {
        std::vector<const Dispatch*> scans;
        for (const Dispatch& dispatch : plan.dispatches) {
          if (accesses(dispatch, {ResourceKind::states, layer}, true)) scans.push_back(&dispatch);
          EXPECT_FALSE(accesses(dispatch, {ResourceKind::states, layer}, false)) << dispatch.label;
        }
        ASSERT_EQ(scans.size(), is_recurrent(plans.config().layers[layer].mixer) ? 1u : 0u) << layer;
        if (scans.empty()) continue;
        EXPECT_EQ(scans[0]->kernel, KernelId::recurrent_scan);
        EXPECT_EQ(scans[0]->constants[7], extent);
      }
    }
  }
}

// Recurrent layers after a sublayer that is left out see another input, although all of them run.
TEST(PlanStates, DraftsThatLeaveOutOtherSublayersWriteNoStates) {
  const Plans plans(fixtures::tiny_family("qwen35"), lavapipe_like());
  for (const char* drafts : {"attn:2", "mlp:0", "mlp:2", "layers:0-3"}) {
    SCOPED_TRACE(drafts);
    int scans = 0;
    for (const Dispatch& dispatch : plans.build({.layers = plans.layers(drafts)}).dispatches) {
      if (dispatch.kernel != KernelId::recurrent_scan) continue;
      EXPECT_EQ(dispatch.constants[7], SCAN_DRAFT) << dispatch.label;
      ++scans;
    }
    EXPECT_GT(scans, 0);
  }
}

}  // namespace
}  // namespace skipstone::exec
