"""T5 (Raffel et al. 2019, arXiv 1910.10683): an encoder and a decoder without biases, with relative positions.

The width K of a head need not be D/A. The first layer of a stack has the table of distances that all layers use.
"""

from collections.abc import Callable, Mapping

from msgspec.structs import replace

from pytest_bertsize.closed_forms.declare import family, read_keys
from pytest_bertsize.closed_forms.tree import fill
from pytest_bertsize.config.keys import ACTIVATIONS, Choice, ConfigKeys, Until
from pytest_bertsize.config.older_releases import TIES, V4, before, without_alias

# ``last`` is the number of a layer's last part: 2 after attention and cross-attention.
STACK = """
{stack}
  embed_tokens                               embedding V D              @embeddings.word     tied weight=~shared.weight
  block.0.layer.0.SelfAttention.relative_attention_bias   embedding B A   @{stack}.relative_position  when not {in_each}
  block × {layers}
    layer.0.SelfAttention.relative_attention_bias   embedding B A   @{stack}.relative_position   when {in_each}
    layer.0.SelfAttention                                               @{stack}.attention
      q, k, v                                linear D A*K bias=False
      o                                      linear A*K D bias=False
    layer.0.layer_norm                       rms_norm D                 @{stack}.norm
    layer.1.EncDecAttention                                             @{stack}.cross_attention   when {crosses}
      q, k, v                                linear D A*K bias=False
      o                                      linear A*K D bias=False
    layer.1.layer_norm                       rms_norm D                 @{stack}.norm   when {crosses}
    layer.{last}.DenseReluDense                                         @{stack}.feed_forward
      wi                                     linear D I bias=False      when not is_gated_act
      wi_0, wi_1                             linear D I bias=False      when is_gated_act
      wo                                     linear I D bias=False
      act                                    activation dense_act_fn
    layer.{last}.layer_norm                  rms_norm D                 @{stack}.norm
  final_layer_norm                           rms_norm D                 @{stack}.norm
"""
PROJECTIONS = Choice("feed_forward_proj", "relu", ACTIVATIONS | {f"gated-{each}" for each in ACTIVATIONS})
HEAD_DIM = before("4.46.0", without_alias("d_kv", "head_dim"), "t5", "configuration")


def derived(projection: str, layers: int) -> Callable[[Mapping[str, object]], dict[str, object]]:
    """Return a function that derives the keys that a file lacks from other keys, as the config class does.

    :param projection: the default of ``feed_forward_proj``.
    :param layers: the default of ``num_layers``, which the decoder gets if a file has the alias ``num_hidden_layers``:
        the class copies ``num_layers`` to the decoder before it reads aliases.
    """

    def derive(written: Mapping[str, object]) -> dict[str, object]:
        said = str(written.get("feed_forward_proj", projection))
        function = "gelu_new" if said == "gated-gelu" else said.removeprefix("gated-")
        follows: dict[str, object] = {"is_gated_act": said.startswith("gated-")}
        if function in ACTIVATIONS:
            follows["dense_act_fn"] = function
        follows = {key: value for key, value in follows.items() if key not in written}
        by_alias = "num_hidden_layers" in written and "num_layers" not in written
        if by_alias and written.get("num_decoder_layers") is None:
            follows["num_decoder_layers"] = layers
        return follows

    return derive


def honoured(default: str) -> Until:
    """Return the change for releases before transformers 5, in which the config decides whether the head is tied.

    :param default: the default of ``tie_word_embeddings`` in the family's config class.
    """

    def change(keys: ConfigKeys) -> ConfigKeys:
        ignored = {key: each for key, each in keys.ignored.items() if key != TIES}
        return replace(read_keys(keys, switches=f"{TIES} {default}"), ignored=ignored)

    return Until(V4, change, "https://github.com/huggingface/transformers/pull/42815")


# Since transformers 5 the head is always tied.
T5 = family(
    "t5",
    sizes="V 32128, D d_model 512 or hidden_size, L num_layers 6 layers or num_hidden_layers,"
    "Ld num_decoder_layers none layers, A num_heads 8 or num_attention_heads, K d_kv 64 or head_dim, I d_ff 2048,"
    "B relative_attention_num_buckets 32",
    switches="is_decoder false, is_gated_act false",
    activations="dense_act_fn relu",
    choices=(PROJECTIONS,),
    ignored=f"{TIES} [true] in ForConditionalGeneration costs V*D when is_false: \
transformers ≥ 5 always ties the head of this family",
    until=(honoured("true"), HEAD_DIM),
    derive=derived("relu", layers=6),
    classes="""
    *Model                       both
    *ForConditionalGeneration    both + lm_head
    *EncoderModel                alone
    *ForSequenceClassification   transformer.both + classification_head
    *ForTokenClassification      transformer.alone + classifier
    *ForQuestionAnswering        both + span
    """,
    shared="shared   embedding V D   @embeddings.word",
    encoder=fill(STACK, stack="encoder", layers="L", crosses="last == 2"),
    decoder=fill(STACK, stack="decoder", layers="get(Ld,L)", crosses="True", last="2"),
    both="last := 1\n<shared>\n<encoder>\n<decoder>",
    alone="last := 2 if is_decoder else 1\n<shared>\n<encoder>",
    in_each="False",
    lm_head=f"lm_head   linear D V bias=False   @head.decoder   tied weight=shared.weight if get({TIES}, True)",
)

# mT5 (Xue et al. 2020, arXiv 2010.11934): T5 with gated feed-forward layers and a vocabulary for 101 languages.
MT5 = family(
    "mt5",
    T5,
    sizes="V 250112, I 1024, L 8, A 6",
    switches="only is_decoder false, is_gated_act true",
    activations="dense_act_fn gelu_new",
    choices=(PROJECTIONS._replace(default="gated-gelu"),),
    until=(honoured("false"), HEAD_DIM),
    derive=derived("gated-gelu", layers=8),
    stem="MT5",
)

UMT5 = family("umt5", MT5, until=T5.keys.until, stem="UMT5", in_each="True")  # Chung et al. 2023, arXiv 2304.09151
