// The one table of recipe keys, sorted by name; see recipe.h.
#include "weft/train/recipe/recipe.h"

namespace weft {
namespace {

constexpr double kAny = 9.0e15;  // every whole number up to here is exact in a double

#define WEFT_SLOT(member) [](Recipe& recipe) -> RecipeSlot { return &recipe.member; }

constexpr RecipeKey kKeys[] = {
    {"aggregate.liars", WEFT_SLOT(aggregate.liars), 0, 127, "",
     "With another aggregate.rule than mean: how many members may send false gradients; the rule "
     "holds against so many. Rounds wait until there are as many members as it takes. With "
     "gossip.rule = \"nna\": how many neighbours of a member may lie."},
    {"aggregate.member_momentum", WEFT_SLOT(aggregate.member_momentum), 0, 0.9999, "",
     "With another aggregate.rule than mean: members send m = b m + (1 - b) g, the running mean of "
     "their gradients g with this b, which leaves less room to those who lie. 0: the gradients; "
     "auto: 0.9."},
    {"aggregate.rule", WEFT_SLOT(aggregate.rule), 0, 512, "",
     "How the members' gradients become one: mean, or a rule of the table below, or several in a "
     "row, such as \"nnm trimmed_mean\" or \"multi_krum:keep=5\"; auto: \"nnm trimmed_mean\" of "
     "momenta, for people who do not want to choose."},
    {"aggregate.verifiers", WEFT_SLOT(aggregate.verifiers), 0, 255, "",
     "With another aggregate.rule than mean: how many members, drawn anew in each round, repeat "
     "what "
     "each member has made of its part of the gradients, before it counts; 0: members are trusted "
     "with that."},
    {"checkpoint.every_steps", WEFT_SLOT(checkpoint.every_steps), 0, kAny, "",
     "Number of steps between two checkpoints; 0 writes only one at the end."},
    {"checkpoint.keep", WEFT_SLOT(checkpoint.keep), 1, 1000, "",
     "Number of the newest checkpoints that are kept on disk."},
    {"checkpoint.keep_best", WEFT_SLOT(checkpoint.keep_best), 0, 1, "",
     "Keep the state with the smallest loss on the test set as checkpoints/best.safetensors; needs "
     "run.evaluate_every_steps."},
    {"data.channels", WEFT_SLOT(data.channels), 1, 3, "", "images: 3 for colour, 1 for grey."},
    {"data.classify", WEFT_SLOT(data.classify), 0, 1, "",
     "rows: if true, whole numbers in the target column are classes (cross-entropy); if false, "
     "they are values to predict (mean squared error). Words are always classes."},
    {"data.columns_ignored", WEFT_SLOT(data.columns_ignored), 0, 20000, "",
     "rows: columns of a CSV file to ignore, such as \"id, name, date\", with commas between them; "
     "a name that contains a comma is put in double quotes. Without a header, their positions from "
     "0."},
    {"data.context", WEFT_SLOT(data.context), 1, 1 << 20, "",
     "Texts and tokens: tokens per sample."},
    {"data.decimal", WEFT_SLOT(data.decimal), 0, 0, "auto|point|comma",
     "rows: the decimal mark of numbers; auto: recognised from the file."},
    {"data.header", WEFT_SLOT(data.header), 0, 1, "",
     "rows: the first line of a CSV file names its columns."},
    {"data.image_size", WEFT_SLOT(data.image_size), 6, 4096, "",
     "images: height, and width unless data.image_width sets another. Each picture is resized "
     "until it covers that size, and its middle is cut out."},
    {"data.image_width", WEFT_SLOT(data.image_width), 0, 4096, "",
     "images: width; 0: the same as data.image_size."},
    {"data.name", WEFT_SLOT(data.name), 0, 0, "",
     "The dataset. `weft data list` shows the names and the places where each is searched; "
     "synthetic needs no file; images, rows, text and tokens read your own data at data.path."},
    {"data.order", WEFT_SLOT(data.order), 0, 0, "auto|shuffled|sequential|random|streams",
     "Which samples a step takes. auto: random windows for texts and tokens; for other data, all "
     "samples in a new order each epoch."},
    {"data.partition", WEFT_SLOT(data.partition), 0, 0, "",
     "With group.exchange = \"mix\": which samples a member has: shared (all of them), equal, "
     "dirichlet, labels or quantity, with options such as \"dirichlet:alpha=0.1\"; docs/methods.md "
     "describes them."},
    {"data.path", WEFT_SLOT(data.path), 0, 0, "",
     "images: a folder with a folder of .png and .jpg files for each class, or with train/ and "
     "test/ (or val/) that contain such folders. rows: a file .csv or .tsv, or a folder with x.npy "
     "and y.npy. text: a UTF-8 file, plain or gzip, or a folder of .txt. tokens: a file of "
     "little-endian numbers, or a folder with train.bin and val.bin (or test.bin). Relative to the "
     "working folder or to WEFT_DATA_DIR; for joiners, inside WEFT_DATA_DIR, or chosen with "
     "--data. Every member needs the same files, unless data.private is true."},
    {"data.private", WEFT_SLOT(data.is_private), 0, 1, "",
     "true: members train on their own data, which are not compared; false: a newcomer whose data "
     "differ from the group's is refused."},
    {"data.separator", WEFT_SLOT(data.separator), 0, 0, "auto|comma|semicolon|tab|bar",
     "rows: the separator between the fields of a table; auto: recognised from the file."},
    {"data.split", WEFT_SLOT(data.split), 0, 0, "last|random",
     "images, rows: which tenth is the test set, if the data have no test set. last: the last "
     "tenth of the table, or of each class by file names; random: a random tenth, the same in "
     "every run."},
    {"data.synthetic_samples", WEFT_SLOT(data.synthetic_samples), 16, 1 << 20, "",
     "Training samples of the synthetic dataset; its test set has a quarter as many."},
    {"data.target", WEFT_SLOT(data.target), 0, 0, "",
     "rows: the column of a CSV file to predict; empty: the last one. All others are inputs."},
    {"data.test_samples_max", WEFT_SLOT(data.test_samples_max), 0, kAny, "",
     "Use at most this many test samples, from the first one; 0 uses all."},
    {"data.token_bytes", WEFT_SLOT(data.token_bytes), 1, 4, "",
     "tokens: bytes per number in the file, 1, 2 or 4."},
    {"data.tokenizer", WEFT_SLOT(data.tokenizer), 0, 0, "",
     "Texts: byte, character, bpe:N (trained on the text), or the path of a tokenizer.json, which "
     "is searched like data.path; joiners may choose it with --tokenizer."},
    {"data.train_samples_max", WEFT_SLOT(data.train_samples_max), 0, kAny, "",
     "Use at most this many training samples, from the first one; 0 uses all."},
    {"data.transforms", WEFT_SLOT(data.transforms), 0, 0, "",
     "Images: transforms of a training image, in this order, such as \"crop:4 flip cutout:8\"; "
     "evaluation leaves out the random ones."},
    {"data.vocabulary", WEFT_SLOT(data.vocabulary), 2, 1LL << 31, "",
     "tokens: every number in the file is smaller than this."},
    {"gossip.deadline_ms", WEFT_SLOT(gossip.deadline_ms), 1, 86400000, "",
     "How long a round waits for its neighbours after the member's own step is computed."},
    {"gossip.degree", WEFT_SLOT(gossip.degree), 2, 64, "",
     "Neighbours of a member in a random_regular topology that names no degree: an even number."},
    {"gossip.expiry_rounds", WEFT_SLOT(gossip.expiry_rounds), 8, 1 << 20, "",
     "A member of which nothing was received for this many rounds counts as gone."},
    {"gossip.rule", WEFT_SLOT(gossip.rule), 0, 0, "mean|nna",
     "What a member makes of its neighbours' parameters and its own. mean: their mean by "
     "gossip.weights; nna: the mean without the aggregate.liars vectors that are farthest from its "
     "own, which so many lying neighbours do not carry off."},
    {"gossip.topology", WEFT_SLOT(gossip.topology), 0, 512, "",
     "Which members are neighbours: a topology of docs/gossip.md, with its options, such as ring "
     "or \"erdos_renyi:p=0.05\"."},
    {"gossip.weights", WEFT_SLOT(gossip.weights), 0, 0, "metropolis|uniform",
     "How much a neighbour's parameters count. metropolis: 1 / (1 + the larger number of "
     "neighbours "
     "of the two); uniform: 1 / (1 + the largest number that the topology allows), where that does "
     "not depend on the number of members."},
    {"group.allow", WEFT_SLOT(group.allow), 0, 20000, "",
     "With group.invite = \"allowlist\": the ids of the peers that may take part, including the "
     "founder's, 64 hexadecimal digits each, separated by spaces; `weft id OUT` prints a peer's "
     "id."},
    {"group.audit", WEFT_SLOT(group.audit), 0, 1, "",
     "Each member writes its input to each round and the result into its events, as hashes and a "
     "few numbers, so that sums can be checked afterwards."},
    {"group.bucket_bytes", WEFT_SLOT(group.bucket_bytes), 4096, 1 << 30, "",
     "Gradients are sent in buckets of about this size, each as soon as backward has filled it."},
    {"group.compute_timeout_s", WEFT_SLOT(group.compute_timeout_s), 0, 86400, "",
     "How long a round waits for a member that still computes its part; then the others go on "
     "without it, and when it is done it joins again with half of its share. 0: 10 times the "
     "median of the last rounds, at least 60 s; 600 s, times local.steps, until three rounds were "
     "measured."},
    {"group.deadline_factor", WEFT_SLOT(group.deadline_factor), 1, 1000, "",
     "With group.wait = \"deadline\" and group.deadline_ms = 0: a round waits this many times as "
     "long as the median member computed in the previous round."},
    {"group.deadline_ms", WEFT_SLOT(group.deadline_ms), 0, 86400000, "",
     "With group.wait = \"deadline\": how long a round waits for a member's part after the first "
     "member has begun it; 0 uses group.deadline_factor."},
    {"group.discovery", WEFT_SLOT(group.discovery), 0, 0, "lan|off",
     "Whether members answer on the local network, so that `weft join` finds the run without a "
     "ticket; docs/discovery.md lists what they send."},
    {"group.exchange", WEFT_SLOT(group.exchange), 0, 0, "exact|gossip|mix",
     "exact: all members sum each round and hold the same model; gossip: each averages its "
     "parameters with a few neighbours, nobody waits for everybody (docs/gossip.md); mix: a method "
     "of mix.method (docs/methods.md)."},
    {"group.heartbeat_interval_ms", WEFT_SLOT(group.heartbeat_interval_ms), 10, 60000, "",
     "Interval of the heartbeats that a member sends to others."},
    {"group.hosts", WEFT_SLOT(group.hosts), 0, 0, "together|apart",
     "If members share hosts and there are several hosts: together: large vectors are summed in "
     "each host first, and one member of each host exchanges data with the other hosts; apart: all "
     "members are treated alike."},
    {"group.invite", WEFT_SLOT(group.invite), 0, 0, "open|ticket|allowlist",
     "Whom the members admit: everybody, holders of a ticket, or the keys in group.allow."},
    {"group.join_stall_s", WEFT_SLOT(group.join_stall_s), 1, 86400, "",
     "While others wait for their turn, a newcomer that fetches nothing of the state for this long "
     "loses its turn; it resumes when it has its turn again."},
    {"group.joins_at_once", WEFT_SLOT(group.joins_at_once), 1, 64, "",
     "How many newcomers may take the state at the same time."},
    {"group.late", WEFT_SLOT(group.late), 0, 0, "",
     "With group.wait = \"deadline\": what becomes of gradients that were too late for their "
     "round: "
     "drop, or a gate by which they count in a later one, with its options, such as carry or "
     "\"polynomial:exponent=1\"; docs/collective.md lists them."},
    {"group.linger_s", WEFT_SLOT(group.linger_s), 0, 10, "",
     "After the last round: how long members serve the final state to newcomers. They end as soon "
     "as no newcomer is left."},
    {"group.lone_survivor", WEFT_SLOT(group.lone_survivor), 0, 1, "",
     "Two members: whether either one may go on alone when the other is lost. This is safe only if "
     "the network cannot split, as on one machine: after a split both sides would go on."},
    {"group.merge_timeout_s", WEFT_SLOT(group.merge_timeout_s), 1, 86400, "",
     "With group.on_split = \"merge\": how long a side that has stopped waits for the other one to "
     "take its state, before it goes on alone. The state must be transferred in that time."},
    {"group.mesh_members", WEFT_SLOT(group.mesh_members), 3, 4096, "",
     "Up to this many members all have connections with each other. In a larger group each keeps "
     "them to a few, and what others send to it is forwarded; docs/membership.md describes it."},
    {"group.on_quorum_lost", WEFT_SLOT(group.on_quorum_lost), 0, 0, "wait|exit",
     "What a member does when half of the group or more is gone for group.quorum_timeout_s: "
     "keep the state and wait for them, or save a checkpoint and exit."},
    {"group.on_split", WEFT_SLOT(group.on_split), 0, 0, "pause|merge",
     "What members do when they are cut off from more than half of the group: wait for the others, "
     "or go on training by themselves and average both models, weighted by samples, when the "
     "others are back; that needs group.on_quorum_lost = \"wait\"."},
    {"group.quorum_timeout_s", WEFT_SLOT(group.quorum_timeout_s), 0.1, 86400, "",
     "How long a majority may be unreachable before group.on_quorum_lost applies."},
    {"group.rendezvous", WEFT_SLOT(group.rendezvous), 0, 0, "",
     "HOST:PORT of a node of the OpenDHT network, such as bootstrap.jami.net:4222: members leave "
     "their addresses there, sealed, for joiners and for members that have lost the others. Empty: "
     "not used."},
    {"group.result_log_bytes", WEFT_SLOT(group.result_log_bytes), 0, 64LL << 30, "",
     "Memory for the results of past rounds, from which a newcomer catches up."},
    {"group.ring", WEFT_SLOT(group.ring), 0, 0, "measured|fixed",
     "The order of the members in a ring: by the measured rates of their links, changed when "
     "rounds become clearly shorter; or the order in which they joined."},
    {"group.segment_bytes", WEFT_SLOT(group.segment_bytes), 1024, 1 << 20, "",
     "A bucket travels round the ring in pieces of this size, so that hops overlap."},
    {"group.shares", WEFT_SLOT(group.shares), 0, 0, "equal|speed",
     "How the members split a batch: equally, or so that all take equally long; speeds are "
     "measured, and a new split is agreed on when it saves more than 15 % of a round."},
    {"group.split_after_s", WEFT_SLOT(group.split_after_s), 0, 86400, "",
     "With group.on_split = \"merge\": how long members wait for the others, after "
     "group.quorum_timeout_s, before they go on by themselves."},
    {"group.staleness_max", WEFT_SLOT(group.staleness_max), 1, 1000, "",
     "With another group.late than drop: gradients that are older than this many rounds are "
     "dropped."},
    {"group.start_members", WEFT_SLOT(group.start_members), 1, 4096, "",
     "The first round begins when the group has this many members; later ones do not wait."},
    {"group.start_timeout_s", WEFT_SLOT(group.start_timeout_s), 0, 86400, "",
     "If no further newcomer arrives for this long, the first round begins with the present "
     "members."},
    {"group.suspicion_timeout_ms", WEFT_SLOT(group.suspicion_timeout_ms), 50, 600000, "",
     "A member that was silent for this long counts as lost."},
    {"group.ticket_valid_h", WEFT_SLOT(group.ticket_valid_h), 1, 8760, "",
     "For how many hours a printed ticket lets others join."},
    {"group.unreached_timeout_s", WEFT_SLOT(group.unreached_timeout_s), 1, 86400, "",
     "A newcomer that has the state and still has no path to one of the members gives up after "
     "this."},
    {"group.wait", WEFT_SLOT(group.wait), 0, 0, "all|deadline",
     "all: a round waits for every member. deadline: members that are late are left out of the "
     "mean of that round, and sending starts only after the whole backward pass."},
    {"group.wire", WEFT_SLOT(group.wire), 0, 0, "",
     "The codec with which gradients are sent: f32; bf16, f16 or int8, which round them on the "
     "way; or topk, randomk, sparseloco, fedzip, dct, powersgd, qsgd, ef_sign or sign, with which "
     "each member encodes its own. An option follows the name, as in \"topk:ratio=0.01\". Except "
     "with qsgd and sign, each member adds what its codec drops to the next round; all members "
     "still hold the same bits."},
    {"local.outer", WEFT_SLOT(local.outer), 0, 0, "plain|nesterov",
     "With local.steps above 1: how the parameters follow the mean change of the members' "
     "parameters; plain with local.outer_rate = 1 takes the mean of the members' parameters."},
    {"local.outer_momentum", WEFT_SLOT(local.outer_momentum), 0, 0.999999, "",
     "Momentum of the outer nesterov."},
    {"local.outer_rate", WEFT_SLOT(local.outer_rate), 1e-6, 10, "",
     "How much of the mean the parameters follow, before momentum."},
    {"local.overlap", WEFT_SLOT(local.overlap), 0, 1, "",
     "Members take the steps of the next round while this round is exchanged; its mean is applied "
     "one round late, which needs a smaller outer rate and momentum, such as 0.4 and 0.5."},
    {"local.steps", WEFT_SLOT(local.steps), 1, 1 << 20, "",
     "Optimizer steps that each member takes by itself between two exchanges, on its shard of each "
     "global batch; 1 exchanges gradients in every step."},
    {"mix.combine", WEFT_SLOT(mix.combine), 0, 0, "",
     "How deltas become one: mean, memory, variance, or rules against liars as in aggregate.rule; "
     "empty: that of mix.method."},
    {"mix.local", WEFT_SLOT(mix.local), 0, 0, "",
     "What a member does with the model that it was given: sgd, prox, sam; empty: that of "
     "mix.method."},
    {"mix.method", WEFT_SLOT(mix.method), 0, 0, "",
     "With group.exchange = \"mix\": the published method, such as fedavg, fedbuff or dpsgd; "
     "docs/methods.md lists them. The other keys of this section replace parts of it."},
    {"mix.mixes", WEFT_SLOT(mix.mixes), 0, 1000, "",
     "Where neighbours mix: so many times after each round of local steps; 0: as often as "
     "mix.method."},
    {"mix.outer", WEFT_SLOT(mix.outer), 0, 0, "",
     "The step that a combined delta makes: plain, momentum, nesterov, adam; empty: that of "
     "mix.method."},
    {"mix.part", WEFT_SLOT(mix.part), 0, 0, "",
     "Where neighbours mix: what they exchange of a model, all or outputs, its output layer, so "
     "that each member keeps the other layers for itself; empty: that of mix.method."},
    {"mix.plan", WEFT_SLOT(mix.plan), 0, 0, "",
     "Who trains and who combines: star, sampled, pairs, or a topology as in gossip.topology, "
     "with which each member combines with its neighbours; empty: that of mix.method."},
    {"mix.start", WEFT_SLOT(mix.start), 0, 0, "same|own",
     "Whether all members begin with one model, or each with one that is drawn for it."},
    {"mix.trigger", WEFT_SLOT(mix.trigger), 0, 0, "",
     "When deltas are combined: round, buffer, period; empty: that of mix.method."},
    {"model.checkpoint_blocks", WEFT_SLOT(model.checkpoint_blocks), 0, 1, "",
     "Text models: keep only the inputs of each block and compute the rest again in the backward "
     "pass; less memory, more time."},
    {"model.dropout", WEFT_SLOT(model.dropout), 0, 1, "", "Train with the model's dropout layers."},
    {"model.embedding_width", WEFT_SLOT(model.embedding_width), 0, 65536, "",
     "Text models: values per token; 0 is the model's default."},
    {"model.heads", WEFT_SLOT(model.heads), 0, 1024, "",
     "char_gpt, llama: attention heads; 0 is the model's default."},
    {"model.hidden_units", WEFT_SLOT(model.hidden_units), 1, 65536, "",
     "mlp: width of the hidden layer. lstm_lm: width of each recurrent layer."},
    {"model.kv_heads", WEFT_SLOT(model.kv_heads), 0, 1024, "",
     "llama: heads of keys and values, which groups of heads share; 0 is the model's default."},
    {"model.layers", WEFT_SLOT(model.layers), 0, 1024, "",
     "Text models: blocks or recurrent layers; 0 is the model's default."},
    {"model.name", WEFT_SLOT(model.name), 0, 0,
     "linear|mlp|lenet|cnn|resnet9|resnet18|char_gpt|llama|lstm_lm",
     "The model of the zoo. Its input sizes, classes and vocabulary are those of the data."},
    {"optimizer.amsgrad", WEFT_SLOT(optimizer.amsgrad), 0, 1, "",
     "adam, adamw: divide by the largest second moment so far."},
    {"optimizer.base_batch", WEFT_SLOT(optimizer.base_batch), 0, 1 << 20, "",
     "Above 0: learning_rate suits this batch and is scaled by run.global_batch / base_batch; use "
     "schedule.warmup_steps with it."},
    {"optimizer.beta1", WEFT_SLOT(optimizer.beta1), 0, 0.999999, "",
     "adam, adamw, muon: decay of the mean of gradients. lion: its share in the direction."},
    {"optimizer.beta2", WEFT_SLOT(optimizer.beta2), 0, 0.999999, "",
     "adam, adamw, muon: decay of the mean of squared gradients. lion: decay of the mean, "
     "best 0.99."},
    {"optimizer.centered", WEFT_SLOT(optimizer.centered), 0, 1, "",
     "rmsprop: divide by the deviation, not the root mean square."},
    {"optimizer.clip_norm", WEFT_SLOT(optimizer.clip_norm), 0, 1e9, "",
     "The gradients of the whole model are scaled down to at most this Euclidean norm; 0: no "
     "scaling."},
    {"optimizer.clip_threshold", WEFT_SLOT(optimizer.clip_threshold), 1e-6, 1e9, "",
     "adafactor: largest root mean square of an update, before the rate."},
    {"optimizer.clip_value", WEFT_SLOT(optimizer.clip_value), 0, 1e9, "",
     "Each gradient is clamped to [-clip_value, clip_value], before clip_norm; 0: no clamping."},
    {"optimizer.dampening", WEFT_SLOT(optimizer.dampening), 0, 1, "",
     "sgd: how much less of the gradient goes into the momentum."},
    {"optimizer.decay_biases_and_norms", WEFT_SLOT(optimizer.decay_biases_and_norms), 0, 1, "",
     "Apply weight decay to biases and to the scales and shifts of norms, too."},
    {"optimizer.epsilon", WEFT_SLOT(optimizer.epsilon), 1e-16, 1, "",
     "adam, adamw, adagrad, adadelta, rmsprop, muon: added to the denominator of the update."},
    {"optimizer.groups", WEFT_SLOT(optimizer.groups), 0, 0, "",
     "Other settings for some parameters: \"embed* rate=0.1 decay=0; kind:norm decay=0; conv1.* "
     "frozen\". The first group that matches a parameter's name or kind applies."},
    {"optimizer.learning_rate", WEFT_SLOT(optimizer.learning_rate), 0, 1000, "",
     "Step size before the schedule scales it."},
    {"optimizer.momentum", WEFT_SLOT(optimizer.momentum), 0, 0.999999, "",
     "sgd, rmsprop, muon: momentum."},
    {"optimizer.name", WEFT_SLOT(optimizer.name), 0, 0,
     "sgd|adam|adamw|adagrad|adadelta|rmsprop|adafactor|lion|muon", "The optimizer."},
    {"optimizer.nesterov", WEFT_SLOT(optimizer.nesterov), 0, 1, "",
     "sgd, muon: Nesterov momentum."},
    {"optimizer.relative_step", WEFT_SLOT(optimizer.relative_step), 0, 1, "",
     "adafactor: the rate is at most 1 / sqrt(step)."},
    {"optimizer.rest_rate_factor", WEFT_SLOT(optimizer.rest_rate_factor), 0, 1000, "",
     "muon: parameters that are not hidden matrices use AdamW with this factor of the learning "
     "rate."},
    {"optimizer.scale_parameter", WEFT_SLOT(optimizer.scale_parameter), 0, 1, "",
     "adafactor: the rate is relative to the root mean square of the parameter."},
    {"optimizer.smoothing", WEFT_SLOT(optimizer.smoothing), 0, 0.999999, "",
     "rmsprop, adadelta: decay of the mean of squared gradients."},
    {"optimizer.weight_decay", WEFT_SLOT(optimizer.weight_decay), 0, 10, "",
     "Weight decay: decoupled (adamw, adafactor, lion, muon) or into the gradient (the others)."},
    {"run.capture", WEFT_SLOT(run.capture), 0, 1, "",
     "Record forward and backward once as a graph and replay it with planned memory: the same bits "
     "as step by step. A step that cannot be replayed runs eagerly, and a note gives the reason."},
    {"run.early_stop_patience", WEFT_SLOT(run.early_stop_patience), 0, kAny, "",
     "Stop after this many measurements in a row without a smaller loss on the test set; 0 never "
     "stops early. Needs run.evaluate_every_steps."},
    {"run.evaluate", WEFT_SLOT(run.evaluate), 0, 1, "",
     "Measure loss and accuracy on the test set in a last round that all members share."},
    {"run.evaluate_every_steps", WEFT_SLOT(run.evaluate_every_steps), 0, kAny, "",
     "Number of steps between two measurements on the test set, which all members make together "
     "within the following round; 0 measures only at the end."},
    {"run.global_batch", WEFT_SLOT(run.global_batch), 1, 1 << 20, "",
     "Samples per step, over all members together: the mathematics of a run does not depend on the "
     "number of members."},
    {"run.label_smoothing", WEFT_SLOT(run.label_smoothing), 0, 1, "",
     "Share of the target that is spread evenly over all classes while training."},
    {"run.loss_scale", WEFT_SLOT(run.loss_scale), 1, 1 << 24, "",
     "precision f16: the initial factor of the loss for the backward pass, so that small gradients "
     "do not vanish. It is halved, and the step skipped, if a gradient is not finite; it is "
     "doubled after 2000 steps without that."},
    {"run.micro_batch", WEFT_SLOT(run.micro_batch), 0, 1 << 20, "",
     "A member computes its part of the batch in pieces of this many samples and adds their "
     "gradients: less memory, the same step up to rounding (except for batch norms, which see one "
     "piece at a time). 0: all at once."},
    {"run.name", WEFT_SLOT(run.name), 0, 0, "", "A name for people."},
    {"run.on_not_finite", WEFT_SLOT(run.on_not_finite), 0, 0, "stop|go_on",
     "What all members do after the first round whose loss is not a number: end with exit code 7, "
     "or go on training. Either way no checkpoint with values that are not finite replaces a good "
     "one."},
    {"run.precision", WEFT_SLOT(run.precision), 0, 0, "f32|bf16|f16",
     "Type of activations and of the parameters as layers see them; the parameters themselves, "
     "their gradients and the optimizer stay f32, and so does the evaluation."},
    {"run.round_seconds_min", WEFT_SLOT(run.round_seconds_min), 0, 3600, "",
     "A round takes at least this long: to leave a machine time for other work, or to watch a "
     "small run."},
    {"run.seed", WEFT_SLOT(run.seed), 0, kAny, "",
     "Seed of initial parameters, order of the samples and dropout."},
    {"run.steps", WEFT_SLOT(run.steps), 1, kAny, "", "Optimizer steps of the whole run."},
    {"schedule.cycle_growth", WEFT_SLOT(schedule.cycle_growth), 1, 1000, "",
     "cosine_restarts: each cycle is this many times as long as the previous one."},
    {"schedule.cycle_steps", WEFT_SLOT(schedule.cycle_steps), 1, kAny, "",
     "cosine_restarts: steps of the first cycle."},
    {"schedule.drop_every_steps", WEFT_SLOT(schedule.drop_every_steps), 1, kAny, "",
     "step: number of steps after which the rate is multiplied by schedule.drop_factor each time; "
     "exponential: the same, but smoothly."},
    {"schedule.drop_factor", WEFT_SLOT(schedule.drop_factor), 0, 1, "",
     "step, exponential, multistep: the factor."},
    {"schedule.final_fraction", WEFT_SLOT(schedule.final_fraction), 0, 1, "",
     "cosine, cosine_restarts, linear, polynomial, one_cycle: the learning rate at the end as a "
     "fraction of the highest."},
    {"schedule.milestones", WEFT_SLOT(schedule.milestones), 0, 0, "",
     "multistep: after which steps the rate is multiplied by schedule.drop_factor, such as "
     "\"1000, 1500\"."},
    {"schedule.name", WEFT_SLOT(schedule.name), 0, 0,
     "constant|step|multistep|exponential|cosine|cosine_restarts|linear|polynomial|one_cycle|"
     "inverse_sqrt",
     "How the learning rate changes with the step."},
    {"schedule.power", WEFT_SLOT(schedule.power), 1e-3, 100, "", "polynomial: the power."},
    {"schedule.rise_fraction", WEFT_SLOT(schedule.rise_fraction), 0, 1, "",
     "one_cycle: the part of the run in which the rate rises."},
    {"schedule.start_fraction", WEFT_SLOT(schedule.start_fraction), 0, 1, "",
     "one_cycle: the first learning rate as a fraction of the highest."},
    {"schedule.warmup_steps", WEFT_SLOT(schedule.warmup_steps), 0, kAny, "",
     "The learning rate first rises linearly from 0 over this many steps, at most over half of the "
     "run; not for one_cycle."},
};

#undef WEFT_SLOT

}  // namespace

std::span<const RecipeKey> recipe_keys() { return kKeys; }

}  // namespace weft
