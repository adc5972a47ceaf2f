// json_output: what commands print with --json: one JSON object per line, including the line's end.
//
// Threads: pure. Fails: never; numbers that are not finite become null.
#pragma once

#include <string>
#include <vector>

#include "weft/data/catalog.h"
#include "weft/train/model/evaluate_checkpoint.h"
#include "weft/train/model/export_checkpoint.h"
#include "weft/train/model/predict.h"
#include "weft/train/recipe/methods.h"

namespace weft {

// {"name", "description", "found", "folder", "remedy", "steps"} for each.
std::string datasets_json(const std::vector<DatasetReport>& reports);
// {"name", "path", "ok", "fault", "sha256", "sha256_known", "bytes"} for each file of `dataset`;
// one line with "files": 0 if it has none.
std::string files_json(const std::string& dataset, const std::vector<FileReport>& files);
// {"key", "type", "default", "help"} for each key; also "allowed", or "min" and "max", of its type.
std::string recipe_keys_json();
// {"key", "name", "help", "options": [{"name", "default", "min", "max", "whole", "help"}]} for each
// method; also {"note_title", "note"} where its family has notes.
std::string methods_json(const std::vector<MethodFamily>& families);
// {"kind", "help", "fields": [{"name", "type", "help"}]} for each kind of event.
std::string event_kinds_json();
// {"checkpoint", "input", "shape", "outputs", "text"}; `outputs` is nested according to `shape`.
// For classes it also has "predictions", the likeliest ones of each row as {"class",
// "probability"}; for values "targets", their names; and "note" and "files" if there are any.
std::string prediction_json(const PredictRequest& request, const Prediction& prediction);
// {"steps", "samples", "test_accuracy", "loss", "state_hash"}, for texts "bits_per_character", for
// values "mae" and "r2", for samples of classes "classes" and "confusion": of each class a list of
// how many of its samples were taken for each class.
std::string evaluation_json(const CheckpointEvaluation& found);
// {"checkpoint", "files": [{"path", "bytes"}], "text"}: what was written, and a text about it.
std::string export_json(const ExportRequest& request, const std::vector<std::string>& files,
                        const std::string& text);
// {NAME: VALUE}.
std::string field_json(const std::string& name, const std::string& value);

}  // namespace weft
