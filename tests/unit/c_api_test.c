/* The public headers and libraries from C99: what needs no device. Prints what is wrong and exits with 1. */
#include <skipstone/skipstone.h>
#include <skipstone/skipstone_experimental.h>
#include <skipstone/tools.h>
#include <stdio.h>
#include <string.h>

static int failures = 0;

#define EXPECT(condition)                                                        \
  do {                                                                           \
    if (!(condition)) {                                                          \
      ++failures;                                                                \
      printf("%s:%d: this does not hold: %s\n", __FILE__, __LINE__, #condition); \
    }                                                                            \
  } while (0)

static void names_and_versions(void) {
  EXPECT(strcmp(skipstone_status_name(SKIPSTONE_OK), "ok") == 0);
  EXPECT(strcmp(skipstone_status_name(SKIPSTONE_DEVICE_LOST), "device_lost") == 0);
  EXPECT(strcmp(skipstone_status_name((skipstone_status)99), "unknown") == 0);
  EXPECT(strcmp(skipstone_stop_reason_name(SKIPSTONE_STOP_END_TOKEN), "end_token") == 0);
  EXPECT(strcmp(skipstone_stop_reason_name((skipstone_stop_reason)99), "unknown") == 0);
  EXPECT(strchr(skipstone_version(), '.') != NULL);
  EXPECT(strcmp(skipstone_version(), SKIPSTONE_VERSION_STRING) == 0);
  EXPECT(skipstone_abi_version() == SKIPSTONE_ABI_VERSION);
  EXPECT(strlen(skipstone_commit()) > 0);
}

static void drafters(void) {
  size_t i, found = 0;
  skipstone_drafter_info info;
  for (i = 0; i < skipstone_drafter_count(); ++i) {
    info.struct_size = sizeof(info);
    EXPECT(skipstone_drafter_get_info(i, &info) == SKIPSTONE_OK);
    if (strcmp(info.name, "none") == 0 || strcmp(info.name, "asd") == 0) ++found;
    EXPECT(info.lossless == 0 || info.lossless == 1);
  }
  EXPECT(found == 2);
  EXPECT(skipstone_drafter_get_info(i, &info) == SKIPSTONE_INVALID_ARGUMENT);
  EXPECT(strstr(skipstone_last_error(), "no drafter number") != NULL);
}

/* An init function gets `size` bytes of a caller: it must fill them, set struct_size, and leave the byte behind them alone. */
#define EXPECT_INIT(type, init)                                                                                     \
  do {                                                                                                              \
    size_t size, i;                                                                                                 \
    type whole;                                                                                                     \
    unsigned char part[sizeof(type) + 64];                                                                          \
    init(&whole, sizeof(whole));                                                                                    \
    EXPECT(whole.struct_size == sizeof(whole));                                                                     \
    for (size = 0; size <= sizeof(type) + 32; ++size) {                                                             \
      const size_t known = size < sizeof(type) ? size : sizeof(type);                                               \
      memset(part, 0xA5, sizeof(part));                                                                             \
      init((type*)(void*)part, size);                                                                               \
      for (i = size < sizeof(size_t) ? 0 : size; i < sizeof(part); ++i) EXPECT(part[i] == 0xA5);                    \
      if (size < sizeof(size_t)) continue;                                                                          \
      EXPECT(memcmp(part, &size, sizeof(size)) == 0);                                                               \
      EXPECT(memcmp(part + sizeof(size), (const unsigned char*)&whole + sizeof(size), known - sizeof(size)) == 0);  \
      for (i = sizeof(type); i < size; ++i) EXPECT(part[i] == 0);                                                   \
    }                                                                                                               \
    init(NULL, sizeof(whole));                                                                                      \
  } while (0)

static void structs_of_every_size(void) {
  EXPECT_INIT(skipstone_engine_params, skipstone_engine_params_init);
  EXPECT_INIT(skipstone_session_params, skipstone_session_params_init);
  EXPECT_INIT(skipstone_session_experiments, skipstone_session_experiments_init);
  EXPECT_INIT(skipstone_inspect_params, skipstone_inspect_params_init);
  EXPECT_INIT(skipstone_doctor_params, skipstone_doctor_params_init);
  EXPECT_INIT(skipstone_work, skipstone_work_init);
  EXPECT_INIT(skipstone_cosine_params, skipstone_cosine_params_init);
  EXPECT_INIT(skipstone_convert_params, skipstone_convert_params_init);
  EXPECT_INIT(skipstone_quantize_params, skipstone_quantize_params_init);
  EXPECT_INIT(skipstone_imatrix_params, skipstone_imatrix_params_init);
  EXPECT_INIT(skipstone_tune_params, skipstone_tune_params_init);
}

/* A program that was built for a newer library: what this one does not know must be zero. */
static void newer_programs(void) {
  struct {
    skipstone_engine_params known;
    uint64_t later;
  } params;
  skipstone_engine* engine = NULL;
  skipstone_engine_params_init(&params.known, sizeof(params));
  params.known.model_path = "there-is-no-such-model.gguf";
  EXPECT(skipstone_engine_load(&params.known, &engine) == SKIPSTONE_NOT_FOUND);
  params.later = 1;
  EXPECT(skipstone_engine_load(&params.known, &engine) == SKIPSTONE_UNSUPPORTED);
  EXPECT(strstr(skipstone_last_error(), "newer Skipstone") != NULL);
}

static void defaults(void) {
  skipstone_engine_params engine;
  skipstone_session_params session;
  skipstone_quantize_params quantize;
  skipstone_work work;
  skipstone_engine_params_init(&engine, sizeof(engine));
  skipstone_session_params_init(&session, sizeof(session));
  skipstone_quantize_params_init(&quantize, sizeof(quantize));
  skipstone_work_init(&work, sizeof(work));
  EXPECT(engine.model_path == NULL && engine.context == 0 && engine.progress == NULL && engine.synthetic == NULL);
  EXPECT(work.rows == 0 && work.chains == 0);
  EXPECT(strstr(skipstone_synthetic_models(), "llama-2-7b") != NULL);
  EXPECT(session.draft_corpus == NULL && session.draft_corpus_count == 0 && session.draft_optional == 0);
  EXPECT(skipstone_draft_is_lossless("suffix:k=3+asd") == 1 && skipstone_draft_is_lossless("psychic") == 0);
  EXPECT(session.temperature == 0.0f && strcmp(session.draft, "auto") == 0);
  EXPECT(strcmp(quantize.type, "Q8_0") == 0 && quantize.overwrite == 0 && quantize.threads == 0);
}

static void wrong_arguments(const char* folder) {
  char path[4096];
  char* json = NULL;
  skipstone_engine* engine = NULL;
  skipstone_session* session = NULL;
  skipstone_engine_params params;
  skipstone_inspect_params inspect;
  skipstone_engine_params_init(&params, sizeof(params));
  skipstone_inspect_params_init(&inspect, sizeof(inspect));

  EXPECT(skipstone_engine_load(NULL, NULL) == SKIPSTONE_INVALID_ARGUMENT);
  EXPECT(skipstone_engine_load(NULL, &engine) == SKIPSTONE_INVALID_ARGUMENT);
  EXPECT(strstr(skipstone_last_error(), "model_path") != NULL);
  params.synthetic = "llama-2-7b:no-type";
  EXPECT(skipstone_engine_load(&params, &engine) == SKIPSTONE_INVALID_ARGUMENT && strstr(skipstone_last_error(), "no-type") != NULL);
  /* A caller that was built before the field was there. */
  params.struct_size = offsetof(skipstone_engine_params, synthetic);
  EXPECT(skipstone_engine_load(&params, &engine) == SKIPSTONE_INVALID_ARGUMENT && strstr(skipstone_last_error(), "model_path") != NULL);
  skipstone_engine_params_init(&params, sizeof(params));
  EXPECT(skipstone_session_measure(NULL, NULL, NULL) == SKIPSTONE_INVALID_ARGUMENT);
  EXPECT(skipstone_copy_bandwidth(NULL, NULL) == SKIPSTONE_INVALID_ARGUMENT);
  EXPECT(engine == NULL);
  params.struct_size = 0;
  EXPECT(skipstone_engine_load(&params, &engine) == SKIPSTONE_INVALID_ARGUMENT);
  EXPECT(strstr(skipstone_last_error(), "struct_size") != NULL);
  skipstone_engine_params_init(&params, sizeof(params));
  params.model_path = "x";
  params.kv_type = 77;
  EXPECT(skipstone_engine_load(&params, &engine) == SKIPSTONE_INVALID_ARGUMENT);
  params.kv_type = SKIPSTONE_KV_Q5_1;
  params.kv_type_v = SKIPSTONE_KV_Q5_1 + 1;
  EXPECT(skipstone_engine_load(&params, &engine) == SKIPSTONE_INVALID_ARGUMENT);
  EXPECT(strstr(skipstone_last_error(), "kv_type_v") != NULL);

  snprintf(path, sizeof(path), "%s/there-is-no-such-model.gguf", folder);
  skipstone_engine_params_init(&params, sizeof(params));
  params.model_path = path;
  EXPECT(skipstone_engine_load(&params, &engine) == SKIPSTONE_NOT_FOUND);
  EXPECT(strstr(skipstone_last_error(), "there-is-no-such-model.gguf") != NULL);
  /* A caller of an older header knows less of the struct: what it has beyond its struct_size is not read. */
  params.struct_size = offsetof(skipstone_engine_params, kv_type);
  params.kv_type = 77;
  EXPECT(skipstone_engine_load(&params, &engine) == SKIPSTONE_NOT_FOUND);

  inspect.model_path = path;
  EXPECT(skipstone_inspect(&inspect, &json) == SKIPSTONE_NOT_FOUND);
  EXPECT(skipstone_inspect(&inspect, NULL) == SKIPSTONE_INVALID_ARGUMENT);
  EXPECT(json == NULL);

  EXPECT(skipstone_session_create(NULL, NULL, &session) == SKIPSTONE_INVALID_ARGUMENT);
  EXPECT(skipstone_session_generate(NULL, NULL, 0, 1, NULL, NULL) == SKIPSTONE_INVALID_ARGUMENT);
  EXPECT(skipstone_session_score(NULL, NULL, 0, NULL, NULL) == SKIPSTONE_INVALID_ARGUMENT);
  skipstone_session_cancel(NULL);
  skipstone_session_free(NULL);
  skipstone_engine_free(NULL);
  skipstone_string_free(NULL);
}

/* Specifications of drafters come from strangers: they are refused before anything is made of them. */
static void long_drafts(void) {
  static char text[5 << 20];
  size_t i;
  skipstone_session_params params;
  skipstone_session_experiments experiments;
  skipstone_token_bias biases[2] = {{7, -100}, {3, 100}};
  const double chance = 0.5;
  skipstone_session_params_init(&params, sizeof(params));
  for (i = 0; i + 5 < sizeof(text); i += 5) memcpy(text + i, "auto+", 5);
  memcpy(text + i - 5, "auto", 5);
  params.draft = text;
  EXPECT(skipstone_session_check_params(&params) == SKIPSTONE_INVALID_ARGUMENT);
  EXPECT(strstr(skipstone_last_error(), "at most 1024") != NULL);
  EXPECT(skipstone_draft_is_lossless(text) == 0);
  params.draft_optional = 1;
  EXPECT(skipstone_session_check_params(&params) == SKIPSTONE_INVALID_ARGUMENT);
  params.draft = "suffix+suffix";
  EXPECT(skipstone_session_check_params(&params) == SKIPSTONE_INVALID_ARGUMENT);
  EXPECT(strstr(skipstone_last_error(), "'suffix' twice") != NULL);
  EXPECT(skipstone_draft_is_lossless(params.draft) == 0);
  params.draft = "suffix";
  params.draft_corpus = &params.draft;
  params.draft_corpus_count = (size_t)1 << 60;
  EXPECT(skipstone_session_check_params(&params) == SKIPSTONE_INVALID_ARGUMENT);
  params.draft_corpus_count = 0;
  skipstone_session_experiments_init(&experiments, sizeof(experiments));
  experiments.synthetic_acceptance = &chance;
  experiments.synthetic_acceptance_count = (size_t)1 << 60;
  params.experiments = &experiments;
  EXPECT(skipstone_session_check_params(&params) == SKIPSTONE_INVALID_ARGUMENT);
  params.experiments = NULL;
  params.draft = "none";
  EXPECT(params.penalty_begin == -1 && params.logit_bias_count == 0);
  params.penalty_begin = -2;
  EXPECT(skipstone_session_check_params(&params) == SKIPSTONE_INVALID_ARGUMENT);
  EXPECT(strcmp(skipstone_last_error_where(), "penalty_begin") == 0);
  params.penalty_begin = 0;
  params.logit_bias_count = 2;
  EXPECT(skipstone_session_check_params(&params) == SKIPSTONE_INVALID_ARGUMENT);
  params.logit_bias = biases;
  EXPECT(skipstone_session_check_params(&params) == SKIPSTONE_OK);
  biases[0].token = biases[1].token;
  EXPECT(skipstone_session_check_params(&params) == SKIPSTONE_INVALID_ARGUMENT);
  EXPECT(strcmp(skipstone_last_error_where(), "logit_bias") == 0);
  biases[0].token = 5;
  biases[1].bias = 101;
  EXPECT(skipstone_session_check_params(&params) == SKIPSTONE_INVALID_ARGUMENT);
  params.logit_bias_count = (size_t)1 << 60;
  EXPECT(skipstone_session_check_params(&params) == SKIPSTONE_INVALID_ARGUMENT);
  params.logit_bias_count = 0;
  params.pipeline_drafts = 7;
  EXPECT(skipstone_session_check_params(&params) == SKIPSTONE_INVALID_ARGUMENT);
}

static void quantize_arguments(const char* folder) {
  char input[4096], output[4096];
  char* json = NULL;
  skipstone_quantize_params params;
  skipstone_quantize_params_init(&params, sizeof(params));
  EXPECT(skipstone_quantize(NULL, &json) == SKIPSTONE_INVALID_ARGUMENT);
  EXPECT(strstr(skipstone_last_error(), "model_path") != NULL);
  snprintf(input, sizeof(input), "%s/there-is-no-such-model.gguf", folder);
  snprintf(output, sizeof(output), "%s/there-will-be-no-such-model.gguf", folder);
  params.model_path = input;
  EXPECT(skipstone_quantize(&params, &json) == SKIPSTONE_INVALID_ARGUMENT);
  EXPECT(strstr(skipstone_last_error(), "output_path") != NULL);
  params.output_path = output;
  EXPECT(skipstone_quantize(&params, &json) == SKIPSTONE_NOT_FOUND);
  EXPECT(skipstone_quantize(&params, NULL) == SKIPSTONE_NOT_FOUND);
  params.type = "IQ2_XS";
  EXPECT(skipstone_quantize(&params, &json) == SKIPSTONE_INVALID_ARGUMENT);
  EXPECT(strstr(skipstone_last_error(), "read, not written; Q2_K_S") != NULL);
  params.type = "Q9";
  EXPECT(skipstone_quantize(&params, &json) == SKIPSTONE_INVALID_ARGUMENT);
  EXPECT(strstr(skipstone_last_error(), "Q8_0") != NULL);
  params.type = NULL;
  EXPECT(skipstone_quantize(&params, &json) == SKIPSTONE_INVALID_ARGUMENT);
  EXPECT(json == NULL);
}

static void conversion(const char* folder) {
  char path[4096];
  skipstone_convert_params params;
  skipstone_convert_params_init(&params, sizeof(params));
  EXPECT(strcmp(params.type, "F16") == 0 && params.exit_layer == 0 && params.overwrite == 0 && params.progress == NULL);
  EXPECT(skipstone_convert(NULL) == SKIPSTONE_INVALID_ARGUMENT);
  EXPECT(strstr(skipstone_last_error(), "checkpoint_path") != NULL);
  snprintf(path, sizeof(path), "%s/there-is-no-such-checkpoint", folder);
  params.checkpoint_path = path;
  EXPECT(skipstone_convert(&params) == SKIPSTONE_INVALID_ARGUMENT);
  EXPECT(strstr(skipstone_last_error(), "output_path") != NULL);
  params.output_path = "out.gguf";
  EXPECT(skipstone_convert(&params) == SKIPSTONE_NOT_FOUND);
  EXPECT(strstr(skipstone_last_error(), "there-is-no-such-checkpoint") != NULL);
  params.type = "F17";
  EXPECT(skipstone_convert(&params) == SKIPSTONE_INVALID_ARGUMENT);
  EXPECT(strstr(skipstone_last_error(), "F17") != NULL);
}

int main(int count, char** arguments) {
  names_and_versions();
  drafters();
  structs_of_every_size();
  newer_programs();
  defaults();
  wrong_arguments(count > 1 ? arguments[1] : ".");
  long_drafts();
  quantize_arguments(count > 1 ? arguments[1] : ".");
  conversion(count > 1 ? arguments[1] : ".");
  if (failures == 0) puts("ok");
  return failures == 0 ? 0 : 1;
}
