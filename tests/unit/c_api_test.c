/* The public header and library from C99: what needs no device. Prints what is wrong and exits with 1. */
#include <skipstone/skipstone.h>
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
  EXPECT(strlen(skipstone_commit()) > 0);
}

static void drafters(void) {
  size_t i, found = 0;
  skipstone_drafter_info info;
  for (i = 0; i < skipstone_drafter_count(); ++i) {
    EXPECT(skipstone_get_drafter(i, &info) == SKIPSTONE_OK);
    if (strcmp(info.name, "none") == 0 || strcmp(info.name, "asd") == 0) ++found;
    EXPECT(info.lossless == 0 || info.lossless == 1);
  }
  EXPECT(found == 2);
  EXPECT(skipstone_get_drafter(i, &info) == SKIPSTONE_INVALID_ARGUMENT);
  EXPECT(strstr(skipstone_last_error(), "no drafter number") != NULL);
}

static void defaults(void) {
  const skipstone_engine_params engine = skipstone_engine_default_params();
  const skipstone_session_params session = skipstone_session_default_params();
  const skipstone_quantize_params quantize = skipstone_quantize_default_params();
  EXPECT(engine.struct_size == sizeof(engine));
  EXPECT(engine.model_path == NULL && engine.context == 0 && engine.progress == NULL && engine.synthetic == NULL);
  EXPECT(skipstone_work_default().struct_size == sizeof(skipstone_work) && skipstone_work_default().rows == 0);
  EXPECT(strstr(skipstone_synthetic_models(), "llama-2-7b") != NULL);
  EXPECT(session.struct_size == sizeof(session));
  EXPECT(session.draft_corpus == NULL && session.draft_corpus_count == 0 && session.draft_optional == 0);
  EXPECT(skipstone_draft_is_lossless("suffix:k=3+asd") == 1 && skipstone_draft_is_lossless("psychic") == 0);
  EXPECT(session.temperature == 0.0f && strcmp(session.draft, "asd") == 0);
  EXPECT(quantize.struct_size == sizeof(quantize));
  EXPECT(strcmp(quantize.type, "Q8_0") == 0 && quantize.overwrite == 0 && quantize.threads == 0);
}

static void wrong_arguments(const char* folder) {
  char path[4096];
  char* json = NULL;
  skipstone_engine* engine = NULL;
  skipstone_session* session = NULL;
  skipstone_engine_params params = skipstone_engine_default_params();
  skipstone_inspect_params inspect = skipstone_inspect_default_params();

  EXPECT(skipstone_engine_load(NULL, NULL) == SKIPSTONE_INVALID_ARGUMENT);
  EXPECT(skipstone_engine_load(NULL, &engine) == SKIPSTONE_INVALID_ARGUMENT);
  EXPECT(strstr(skipstone_last_error(), "model_path") != NULL);
  params.synthetic = "llama-2-7b:no-type";
  EXPECT(skipstone_engine_load(&params, &engine) == SKIPSTONE_INVALID_ARGUMENT && strstr(skipstone_last_error(), "no-type") != NULL);
  /* A caller that was built before the field was there. */
  params.struct_size = offsetof(skipstone_engine_params, synthetic);
  EXPECT(skipstone_engine_load(&params, &engine) == SKIPSTONE_INVALID_ARGUMENT && strstr(skipstone_last_error(), "model_path") != NULL);
  params = skipstone_engine_default_params();
  EXPECT(skipstone_session_measure(NULL, NULL, NULL) == SKIPSTONE_INVALID_ARGUMENT);
  EXPECT(skipstone_copy_bandwidth(NULL, NULL) == SKIPSTONE_INVALID_ARGUMENT);
  EXPECT(engine == NULL);
  params.struct_size = 0;
  EXPECT(skipstone_engine_load(&params, &engine) == SKIPSTONE_INVALID_ARGUMENT);
  EXPECT(strstr(skipstone_last_error(), "struct_size") != NULL);
  params = skipstone_engine_default_params();
  params.model_path = "x";
  params.kv_type = 77;
  EXPECT(skipstone_engine_load(&params, &engine) == SKIPSTONE_INVALID_ARGUMENT);

  snprintf(path, sizeof(path), "%s/there-is-no-such-model.gguf", folder);
  params = skipstone_engine_default_params();
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
  skipstone_session_cancel(NULL);
  skipstone_session_free(NULL);
  skipstone_engine_free(NULL);
  skipstone_string_free(NULL);
}

static void quantize_arguments(const char* folder) {
  char input[4096], output[4096];
  char* json = NULL;
  skipstone_quantize_params params = skipstone_quantize_default_params();
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
  EXPECT(strstr(skipstone_last_error(), "Q8_0") != NULL);
  params.type = NULL;
  EXPECT(skipstone_quantize(&params, &json) == SKIPSTONE_INVALID_ARGUMENT);
  EXPECT(json == NULL);
}

static void conversion(const char* folder) {
  char path[4096];
  skipstone_convert_params params = skipstone_convert_default_params();
  EXPECT(params.struct_size == sizeof(params));
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
  defaults();
  wrong_arguments(count > 1 ? arguments[1] : ".");
  quantize_arguments(count > 1 ? arguments[1] : ".");
  conversion(count > 1 ? arguments[1] : ".");
  if (failures == 0) puts("ok");
  return failures == 0 ? 0 : 1;
}
