"""BERT (Devlin et al. 2018, arXiv 1810.04805), and families that differ from it in a few modules."""

from pytest_bertsize.closed_forms.declare import family
from pytest_bertsize.closed_forms.parts import heads, shared_keys

# Other families replace parts of BERT's trees by name. Parts that are empty here, or one word, are for them: ``more``
# is an addition to each layer, ``attention_norm`` and ``feed_forward_norm`` are the names of a layer's norms.
BERT = family(
    "bert",
    sizes="V 30522, D 768, L 12 layers from 0, A 12 divides D, I 3072, P 512, T 2",
    switches="is_decoder false, add_cross_attention false needs is_decoder, tie_word_embeddings true",
    activations="hidden_act gelu",
    ignored="OF_BERT",
    until=(shared_keys.READ,),
    classes="""
    *Model, *ForPreTraining, *ForMaskedLM, *{causal}, *ForNextSentencePrediction
    *ForSequenceClassification, *ForMultipleChoice, *ForTokenClassification, *ForQuestionAnswering
    """,
    causal="LMHeadModel",
    body="""
    <embeddings>
    <after_embeddings>
    encoder.layer × L
      <layer>
    <after_layers>
    <pooler>
    """,
    embeddings="""
    embeddings
      word_embeddings            embedding V {embeddings_width}   @embeddings.word
      <position_embeddings>
      <segment_embeddings>
      <embeddings_norm>
    """,
    position_embeddings="position_embeddings     embedding P {embeddings_width}   @embeddings.position",
    segment_embeddings="token_type_embeddings   embedding T {embeddings_width}   @embeddings.token_type",
    embeddings_norm="LayerNorm   layer_norm {embeddings_width}   @embeddings.norm",
    embeddings_width="D",
    layer="""
    attention                    @encoder.attention
      <attention>
      <distances>
    crossattention               @encoder.cross_attention   when get(add_cross_attention,False)
      <attention>
      <cross_distances>
    <feed_forward>
    <more>
    """,
    attention="""
    self
      <projections>
    output.dense                 linear D D
    {attention_norm}             layer_norm D    @encoder.norm
    """,
    projections="query, key, value   linear D D",
    attention_norm="output.LayerNorm",
    distances=shared_keys.DISTANCES,
    cross_distances="",
    feed_forward="""
    intermediate                                 @encoder.feed_forward
      dense                      linear D I
      intermediate_act_fn        activation hidden_act
    output.dense                 linear I D      @encoder.feed_forward
    {feed_forward_norm}          layer_norm D    @encoder.norm
    """,
    feed_forward_norm="output.LayerNorm",
    more="",
    after_embeddings="",
    after_layers="",
    pooler="pooler.dense         linear D D      @pooler  when pooler",
    masked_lm=heads.MASKED_LM,
)

NO_CROSS_ATTENTION = """
add_cross_attention [false] costs L*(4*D*D + 6*D) when is_true: the layers of this family have no cross-attention
"""
# The base of families that never decode: BERT without cross-attention.
ENCODER = family("bert", BERT, switches="only tie_word_embeddings true", ignored=NO_CROSS_ATTENTION, until=())

# ERNIE (Sun et al. 2019, arXiv 1904.09223): BERT with the task types of ERNIE 2.0 (arXiv 1907.12412).
ERNIE = family(
    "ernie",
    BERT,
    sizes="Tt task_type_vocab_size 3",
    switches="use_task_id false",
    causal="ForCausalLM",
    after_embeddings="embeddings.task_type_embeddings   embedding Tt D   @embeddings.task_type   when use_task_id",
)

# BERT for generation (Rothe et al. 2019, arXiv 1907.12461): BERT without token types, pooler and transform.
BERT_GENERATION = family(
    "bert-generation",
    BERT,
    sizes="only V 50358, D 1024, L 24 layers from 0, A 16, I 4096, P 512",
    ignored="type_vocab_size costs value*D when is_size: this family has no token types",
    classes="""
    BertGenerationEncoder   body
    BertGenerationDecoder   bert.body + lm_head
    """,
    segment_embeddings="",
    pooler="",
    lm_head=f"""
    lm_head
      bias                       parameter V     @head.decoder
      {heads.decoder("lm_head.bias")}
    """,
)

# Splinter (Ram et al. 2021, arXiv 2101.00438): BERT without a pooler; its head has a start and an end in question and
# text.
SPLINTER = family(
    "splinter",
    ENCODER,
    switches="only",
    until=(shared_keys.read_until(4, 54),),
    classes="""
    *Model
    *ForPreTraining, *ForQuestionAnswering   splinter.body + span_selection
    """,
    pooler="",
    span_selection="""
    splinter_qass
      query_{end}_transform                                  @head.transform    for end in ("start", "end")
        <transform>
      {end}_transform                                        @head.transform    for end in ("start", "end")
        <transform>
      {end}_classifier           linear D D bias=False       @head.classifier   for end in ("start", "end")
    """,
    transform="dense   linear D D\nLayerNorm   layer_norm D",
)
