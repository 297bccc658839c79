// The shapes of published models, for synthetic ones.
#include <array>

#include "model/synthetic.h"

namespace skipstone::model {
namespace {

using Key = SyntheticKey;

constexpr std::array mistral_7b_keys{Key{"attention.sliding_window", 4096u}};
constexpr std::array gemma_2_keys{Key{"attention.sliding_window", 4096u}, Key{"attn_logit_softcapping", 50.0f},
                                  Key{"final_logit_softcapping", 30.0f}};
constexpr std::array gemma_3_1b_keys{Key{"attention.sliding_window", 512u}};
constexpr std::array gemma_3_keys{Key{"attention.sliding_window", 1024u}, Key{"rope.scaling.type", "linear"},
                                  Key{"rope.scaling.factor", 8.0f}};
constexpr std::array phi_4_mini_keys{Key{"rope.dimension_count", 96u}, Key{"rope.scaling.original_context_length", 4096u},
                                     Key{"rope.scaling.attn_factor", 1.1902381f}, Key{"attention.sliding_window", 0u}};
constexpr std::array granite_keys{Key{"embedding_scale", 12.0f}, Key{"residual_scale", 0.22f}, Key{"attention.scale", 0.0078125f},
                                  Key{"logit_scale", 16.0f}};

constexpr std::array qwen_3_5_9b_keys{Key{"rope.dimension_count", 64u}, Key{"full_attention_interval", 4u}, Key{"ssm.conv_kernel", 4u},
                                      Key{"ssm.state_size", 128u},      Key{"ssm.group_count", 16u},        Key{"ssm.time_step_rank", 32u},
                                      Key{"ssm.inner_size", 4096u}};
constexpr std::array gpt_oss_20b_keys{Key{"attention.sliding_window", 128u},
                                      Key{"rope.scaling.type", "yarn"},
                                      Key{"rope.scaling.factor", 32.0f},
                                      Key{"rope.scaling.original_context_length", 4096u},
                                      Key{"expert_count", 32u},
                                      Key{"expert_used_count", 4u},
                                      Key{"expert_feed_forward_length", 2880u}};
constexpr std::array qwen_3_30b_keys{Key{"expert_count", 128u}, Key{"expert_used_count", 8u}, Key{"expert_feed_forward_length", 768u}};
constexpr std::array qwen_3_6_35b_keys{Key{"rope.dimension_count", 64u},
                                       Key{"full_attention_interval", 4u},
                                       Key{"ssm.conv_kernel", 4u},
                                       Key{"ssm.state_size", 128u},
                                       Key{"ssm.group_count", 16u},
                                       Key{"ssm.time_step_rank", 32u},
                                       Key{"ssm.inner_size", 4096u},
                                       Key{"expert_count", 256u},
                                       Key{"expert_used_count", 8u},
                                       Key{"expert_feed_forward_length", 512u},
                                       Key{"expert_shared_feed_forward_length", 512u}};
constexpr std::array qwen_3_6_27b_keys{Key{"rope.dimension_count", 64u}, Key{"full_attention_interval", 4u}, Key{"ssm.conv_kernel", 4u},
                                       Key{"ssm.state_size", 128u},      Key{"ssm.group_count", 16u},        Key{"ssm.time_step_rank", 48u},
                                       Key{"ssm.inner_size", 6144u}};

// From the models' config.json on huggingface.co: meta-llama/Llama-2-{7b,13b,70b}-hf (and Touvron et al., arXiv 2307.09288),
// meta-llama/Llama-3.1-8B, Llama-3.2-{1B,3B} (arXiv 2407.21783), Qwen/Qwen2.5-7B (arXiv 2412.15115), Qwen/Qwen3-{0.6B,4B,8B,30B-A3B} (arXiv
// 2505.09388), Qwen/Qwen3.5-9B, Qwen/Qwen3.6-{27B,35B-A3B}, openai/gpt-oss-20b (arXiv 2508.10925), google/gemma-2-2b (arXiv 2408.00118),
// google/gemma-3-{1b,4b,12b}-pt (arXiv 2503.19786; the language model), microsoft/Phi-4-mini-instruct (arXiv 2503.01743), microsoft/phi-4
// (arXiv 2412.08905), mistralai/Mistral-7B-v0.1 (Jiang et al., arXiv 2310.06825), mistralai/Mistral-Small-24B-Base-2501,
// ibm-granite/granite-3.1-8b-base, HuggingFaceTB/SmolLM3-3B-Base, allenai/OLMo-2-1124-7B (arXiv 2501.00656),
// microsoft/Phi-3-mini-4k-instruct (Abdin et al., arXiv 2404.14219; its fused QKV and gate+up are separate here),
// HuggingFaceTB/SmolLM2-135M, TinyLlama/TinyLlama-1.1B (Zhang et al., arXiv 2401.02385); stories-260k: karpathy/tinyllamas, for tests.
//   name, architecture, layers, width, heads, KV heads, head (0: width / heads), feed-forward, vocabulary, context, RoPE's base, tied,
//   keys, rotary factor, heads for prediction
constexpr std::array shapes = {
    SyntheticShape{"llama-2-7b", "llama", 32, 4096, 32, 32, 0, 11008, 32000, 4096},
    SyntheticShape{"llama-2-13b", "llama", 40, 5120, 40, 40, 0, 13824, 32000, 4096},
    SyntheticShape{"llama-2-70b", "llama", 80, 8192, 64, 8, 0, 28672, 32000, 4096},
    SyntheticShape{"llama-3.1-8b", "llama", 32, 4096, 32, 8, 0, 14336, 128256, 131072, 5e5f, false, {}, 8.0f},
    SyntheticShape{"llama-3.2-1b", "llama", 16, 2048, 32, 8, 0, 8192, 128256, 131072, 5e5f, true, {}, 32.0f},
    SyntheticShape{"llama-3.2-3b", "llama", 28, 3072, 24, 8, 0, 8192, 128256, 131072, 5e5f, true, {}, 32.0f},
    SyntheticShape{"qwen2.5-7b", "qwen2", 28, 3584, 28, 4, 0, 18944, 152064, 131072, 1e6f},
    SyntheticShape{"qwen3-0.6b", "qwen3", 28, 1024, 16, 8, 128, 3072, 151936, 40960, 1e6f, true},
    SyntheticShape{"qwen3-4b", "qwen3", 36, 2560, 32, 8, 128, 9728, 151936, 40960, 1e6f, true},
    SyntheticShape{"qwen3-8b", "qwen3", 36, 4096, 32, 8, 128, 12288, 151936, 40960, 1e6f},
    SyntheticShape{"qwen3-30b-a3b", "qwen3moe", 48, 2048, 32, 4, 128, 6144, 151936, 40960, 1e6f, false, qwen_3_30b_keys},
    SyntheticShape{"qwen3.5-9b", "qwen35", 32, 4096, 16, 4, 256, 12288, 248320, 262144, 1e7f, false, qwen_3_5_9b_keys, 0.0f, 1},
    SyntheticShape{"qwen3.6-27b", "qwen35", 64, 5120, 24, 4, 256, 17408, 248320, 262144, 1e7f, false, qwen_3_6_27b_keys, 0.0f, 1},
    SyntheticShape{"qwen3.6-35b-a3b", "qwen35moe", 40, 2048, 16, 2, 256, 512, 248320, 262144, 1e7f, false, qwen_3_6_35b_keys, 0.0f, 1},
    SyntheticShape{"gpt-oss-20b", "gpt-oss", 24, 2880, 64, 8, 64, 2880, 201088, 131072, 150000.0f, false, gpt_oss_20b_keys},
    SyntheticShape{"gemma-2-2b", "gemma2", 26, 2304, 8, 4, 256, 9216, 256000, 8192, 1e4f, true, gemma_2_keys},
    SyntheticShape{"gemma-3-1b", "gemma3", 26, 1152, 4, 1, 256, 6912, 262144, 32768, 1e6f, true, gemma_3_1b_keys},
    SyntheticShape{"gemma-3-4b", "gemma3", 34, 2560, 8, 4, 256, 10240, 262208, 131072, 1e6f, true, gemma_3_keys},
    SyntheticShape{"gemma-3-12b", "gemma3", 48, 3840, 16, 8, 256, 15360, 262208, 131072, 1e6f, true, gemma_3_keys},
    SyntheticShape{"phi-4-mini", "phi3", 32, 3072, 24, 8, 0, 8192, 200064, 131072, 1e4f, true, phi_4_mini_keys, 48.0f},
    SyntheticShape{"phi-4", "phi3", 40, 5120, 40, 10, 0, 17920, 100352, 16384, 250000.0f},
    SyntheticShape{"mistral-7b", "llama", 32, 4096, 32, 8, 0, 14336, 32000, 32768, 1e4f, false, mistral_7b_keys},
    SyntheticShape{"mistral-small-3", "llama", 40, 5120, 32, 8, 128, 32768, 131072, 32768, 1e8f},
    SyntheticShape{"granite-3-8b", "granite", 40, 4096, 32, 8, 0, 12800, 49155, 131072, 1e7f, true, granite_keys},
    SyntheticShape{"smollm3-3b", "smollm3", 36, 2048, 16, 4, 0, 11008, 128256, 65536, 5e6f, true},
    SyntheticShape{"olmo2-7b", "olmo2", 32, 4096, 32, 32, 0, 11008, 100352, 4096, 5e5f},
    SyntheticShape{"phi-3-mini", "llama", 32, 3072, 32, 32, 0, 8192, 32064, 4096},
    SyntheticShape{"smollm2-135m", "llama", 30, 576, 9, 3, 0, 1536, 49152, 8192, 1e5f, true},
    SyntheticShape{"tinyllama-1.1b", "llama", 22, 2048, 32, 4, 0, 5632, 32000, 2048},
    SyntheticShape{"stories-260k", "llama", 5, 64, 8, 4, 0, 172, 512, 512, 1e4f, true},
};

}  // namespace

std::span<const SyntheticShape> synthetic_shapes() { return shapes; }

}  // namespace skipstone::model
